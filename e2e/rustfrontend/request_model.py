"""Reads requests by a request model of vLLM's Python front end, out of the wheel that the Rust one is of.

    request_model.py FOLDER CompletionRequest|GenerateRequest|ChatCompletionRequest|TokenizeChatRequest < requests, one a line

prints for each the members that vLLM does not know, as a JSON list, or {"error": ...} where vLLM would refuse it. The request
model needs pydantic alone, but its modules import torch and much else for other things. Those imports get placeholders.
"""

import importlib
import importlib.abc
import importlib.machinery
import json
import logging
import sys
import types

# What is imported from the wheel as it is. Every other module of vLLM's is a placeholder.
PACKAGES = ["vllm", "vllm.entrypoints", "vllm.entrypoints.openai", "vllm.entrypoints.openai.completion", "vllm.entrypoints.generate",
            "vllm.entrypoints.generate.base", "vllm.entrypoints.serve", "vllm.entrypoints.serve.engine",
            "vllm.entrypoints.scale_out", "vllm.entrypoints.scale_out.token_in_token_out",
            "vllm.entrypoints.openai.chat_completion", "vllm.entrypoints.serve.tokenize",
            "vllm.renderers", "vllm.renderers.chat_utils"]
MODULES = {"vllm.envs", "vllm.exceptions", "vllm.sampling_params", "vllm.entrypoints.openai.completion.protocol",
           "vllm.entrypoints.generate.base.protocol", "vllm.entrypoints.serve.engine.protocol",
           "vllm.entrypoints.scale_out.token_in_token_out.protocol", "vllm.entrypoints.openai.chat_completion.protocol",
           "vllm.entrypoints.serve.tokenize.protocol", "vllm.renderers.chat_utils.types"}
# What else they import that need not be installed.
OTHERS = {"torch", "numpy", "transformers", "msgspec", "regex", "cachetools", "zmq", "openai", "fastapi", "starlette", "PIL"}


class Placeholder(type):
    """A class whose attributes are such classes, which can stand in an annotation, be a base and be a decorator."""

    def __new__(mcs, name, bases, members, **_):
        return super().__new__(mcs, name, bases, members)

    def __init__(cls, name, bases, members, **_):
        super().__init__(name, bases, members)

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return placeholder(name)

    def __or__(cls, other):
        return cls

    def __ror__(cls, other):
        return cls

    def __getitem__(cls, item):
        return cls

    def __call__(cls, *args, **kwargs):
        if args and callable(args[0]) and not kwargs:
            return args[0]
        return lambda decorated=None, *_, **__: decorated


def placeholder(name):
    from pydantic_core import core_schema

    return Placeholder(name, (), {
        "__init_subclass__": classmethod(lambda cls, **_: None),
        "__get_pydantic_core_schema__": classmethod(lambda cls, source, handler: core_schema.any_schema()),
    })


class Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return placeholder(name)


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, wanted):
        self.wanted = wanted

    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if self.wanted(name) else None

    def create_module(self, spec):
        module = Module(spec.name)
        module.__path__ = []
        if spec.name == "vllm.logger":
            module.init_logger = logging.getLogger
        return module

    def exec_module(self, module):
        pass


def prepare(folder):
    for name in PACKAGES:
        package = Module(name)
        package.__path__ = [folder + "/" + name.replace(".", "/")]
        sys.modules[name] = package
    sys.meta_path.insert(0, Finder(lambda name: name.startswith("vllm.") and name not in MODULES))
    sys.meta_path.append(Finder(lambda name: name.split(".")[0] in OTHERS))


def completion(body):
    """The members of a request for /v1/completions that vLLM does not know. Its model keeps them."""
    from vllm.entrypoints.openai.completion.protocol import CompletionRequest

    return sorted(CompletionRequest.model_validate(body).model_extra or {})


def generate(body):
    """The same of a request for /inference/v1/generate. Its sampling parameters are a structure of msgspec's."""
    from vllm.entrypoints.scale_out.token_in_token_out.protocol import GenerateRequest
    from vllm.sampling_params import SamplingParams

    GenerateRequest.model_validate(body)
    known = set(SamplingParams.__annotations__)
    return sorted(set(body) - set(GenerateRequest.model_fields)) + sorted(set(body["sampling_params"]) - known)


def chat_messages():
    """Makes the types of messages those of vLLM's. A Harmony message is one as openai_harmony has it, and not any object."""
    import pydantic

    harmony = sys.modules["openai_harmony"] = types.ModuleType("openai_harmony")
    harmony.Message = pydantic.create_model("Message", author=(dict, ...), content=(list, ...))
    known = importlib.import_module("vllm.renderers.chat_utils.types")
    for name in known.__all__:
        setattr(sys.modules["vllm.renderers.chat_utils"], name, getattr(known, name))


def chat(body):
    """The same of a request for /v1/chat/completions."""
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    return sorted(ChatCompletionRequest.model_validate(body).model_extra or {})


def tokenize(body):
    """The same of a request for /tokenize that holds a conversation."""
    from vllm.entrypoints.serve.tokenize.protocol import TokenizeChatRequest

    return sorted(TokenizeChatRequest.model_validate(body).model_extra or {})


def main():
    prepare(sys.argv[1])
    unknown = {"CompletionRequest": completion, "GenerateRequest": generate, "ChatCompletionRequest": chat,
               "TokenizeChatRequest": tokenize}[sys.argv[2]]
    if unknown in (chat, tokenize):
        chat_messages()
    for line in sys.stdin:
        try:
            said = unknown(json.loads(line))
        except Exception as refused:  # pydantic's or vLLM's own
            said = {"error": str(refused)}
        print(json.dumps(said))


main()
