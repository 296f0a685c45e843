"""Reads requests as SGLang does, by the request models of its wheel.

    sglang.py FOLDER PATH < requests, one JSON object a line

prints for each the members that SGLang does not know, as a JSON list, or {"error": ...} where SGLang would refuse it.
PATH is /generate, /v1/completions or /v1/chat/completions. The models of /generate are structures of msgspec's, and a
class that behaves alike is enough to make them. The others need pydantic and openai.
"""

import ast
import json
import sys
import types
from typing import Literal


class Struct:
    """What msgspec.Struct does when it is called: members by name, defaults, no others, then __post_init__."""

    def __init_subclass__(cls, **_):
        super().__init_subclass__()
        cls.__struct_fields__ = tuple(cls.__annotations__)

    def __init__(self, **members):
        unknown = set(members) - set(self.__struct_fields__)
        if unknown:
            raise TypeError(f"Unexpected keyword argument {sorted(unknown)}")
        for name in self.__struct_fields__:
            object.__setattr__(self, name, members[name] if name in members else getattr(type(self), name))
        if hasattr(self, "__post_init__"):
            self.__post_init__()


def prepare(folder):
    """Makes the wheel's modules importable without the package, which would import torch."""
    sys.modules["msgspec"] = types.SimpleNamespace(Struct=Struct)
    for name in ("sglang", "sglang.api", "sglang.api.v1", "sglang.srt", "sglang.srt.sampling", "sglang.srt.entrypoints",
                 "sglang.srt.entrypoints.openai"):
        package = types.ModuleType(name)
        package.__path__ = [folder + "/" + name.replace(".", "/")]
        sys.modules[name] = package
    for name in ("sglang.srt.sampling.watermarking", "sglang.srt.sampling.watermarking.core"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules[name].WatermarkRequestConfig = dict
    sys.modules[name].normalize_watermark_request = lambda watermark: watermark
    sys.modules["sglang.utils"] = types.ModuleType("sglang.utils")
    sys.modules["sglang.utils"].convert_json_schema_to_str = json.dumps


def definition(path, kind, name):
    """The definition of a class or a function in a module that needs much that is not installed."""
    with open(path, encoding="utf-8") as source:
        for item in ast.walk(ast.parse(source.read())):
            if isinstance(item, kind) and item.name == name:
                return item
    raise SystemExit(f"{path} has no {name}")


def generate(folder):
    """How SGLang reads the requests of /generate. A request without an error gives the members that are not known."""
    from sglang.api.v1.api_types import GenerateRequest
    from sglang.srt.sampling.sampling_params import SamplingParams

    model = definition(folder + "/sglang/srt/managers/io_struct.py", ast.ClassDef, "GenerateReqInput")
    known = {line.target.id for line in model.body if isinstance(line, ast.AnnAssign)}

    def read(body):
        GenerateRequest.from_json_value(body)
        SamplingParams(**body["sampling_params"]).verify(201088)
        return set(body) - known

    return read


def prepare_grammars():
    import pydantic

    # xgrammar needs torch. What its formats are is not looked at here.
    sys.modules["xgrammar"] = types.ModuleType("xgrammar")
    sys.modules["xgrammar"].StructuralTag = pydantic.create_model(
        "StructuralTag", __config__=pydantic.ConfigDict(extra="forbid"), type=(Literal["structural_tag"], ...),
        format=(dict, ...))


def chat(_):
    """The same of /v1/chat/completions. The members of messages and of tools count too."""
    prepare_grammars()
    from sglang.srt.entrypoints.openai import protocol

    def read(body):
        protocol.ChatCompletionRequest(**json.loads(json.dumps(body)))  # it changes what it gets
        unknown = set(body) - set(protocol.ChatCompletionRequest.model_fields)
        for message in body["messages"]:
            unknown |= set(message) - set(protocol.ChatCompletionMessageGenericParam.model_fields)
        for tool in body.get("tools", []):
            unknown |= set(tool) - set(protocol.Tool.model_fields)
            unknown |= set(tool["function"]) - set(protocol.Function.model_fields)
        return unknown

    return read


def completions(folder):
    """The same of /v1/completions, whose requests become the engine's sampling parameters."""
    prepare_grammars()
    from sglang.srt.entrypoints.openai.protocol import CompletionRequest
    from sglang.srt.sampling.sampling_params import SamplingParams

    path = folder + "/sglang/srt/entrypoints/openai/serving_completions.py"
    build = definition(path, ast.FunctionDef, "_build_sampling_params")
    build.returns, build.args.args[1].annotation = None, None
    names = {"convert_json_schema_to_str": json.dumps}
    exec(compile(ast.Module([build], []), path, "exec"), names)  # it is SGLang's own code

    def read(body):
        request = CompletionRequest(**body)
        SamplingParams(**names["_build_sampling_params"](None, request)).verify(201088)
        return set(body) - set(CompletionRequest.model_fields)

    return read


def main():
    folder, path = sys.argv[1:]
    prepare(folder)
    read = {"/generate": generate, "/v1/completions": completions, "/v1/chat/completions": chat}[path](folder)
    for line in sys.stdin:
        try:
            said = sorted(read(json.loads(line)))
        except (TypeError, ValueError) as refused:
            said = {"error": str(refused)}
        print(json.dumps(said))


main()
