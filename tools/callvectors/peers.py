"""Has the peers' own parsers read the inputs of the peers' own tests: vectors that are made anew for each run.

    peers.py FOLDER OUT SMG

FOLDER is what tools/install-peers.sh has fetched. vLLM's tests run under pytest, and what they give a parser is
recorded. SMG's tests are Rust: their strings are read. Each input is then read by the peer whose it is: by vLLM's
parsers in this Python, and by the program SMG. OUT/PEER.jsonl has a line for each input, in the form of generate.py.
"""

import http.client
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import types

import generate
import pytest

# The forms by file of vLLM's tests. Mistral's want a tokenizer that only a model hub has.
VLLM_FILES = {
    "tool_parsers/test_hermes_tool_parser.py": "hermes",
    "tool_parsers/test_qwen3coder_tool_parser.py": "qwen3_coder",
    "tool_parsers/test_glm4_moe_tool_parser.py": "glm45",
    "tool_parsers/test_glm47_moe_tool_parser.py": "glm45",
    "tool_parsers/test_kimi_k2_tool_parser.py": "kimi_k2",
    "tool_parsers/test_deepseekv3_tool_parser.py": "deepseek_v3",
    "tool_parsers/test_deepseekv31_tool_parser.py": "deepseek_v31",
    "tool_parsers/test_deepseekv32_tool_parser.py": "deepseek_v32",
    "tool_parsers/test_llama3_json_tool_parser.py": "llama3_json",
    "parser/engine/test_qwen3.py": "qwen3_coder",
    "parser/engine/test_qwen3_reasoning.py": "qwen3_coder",
    "parser/engine/test_deepseek_v32.py": "deepseek_v32",
    "parser/engine/test_glm47_moe.py": "glm45",
    "reasoning/test_deepseekr1_reasoning_parser.py": "deepseek_v3",
    "reasoning/test_deepseekv3_reasoning_parser.py": "deepseek_v31",
    "reasoning/test_glm4_moe_reasoning_parser.py": "glm45",
    "reasoning/test_kimi_k2_reasoning_parser.py": "kimi_k2",
    "reasoning/test_qwen3_reasoning_parser.py": "hermes",
}

# The forms, and SMG's names of its parsers of calls and of reasoning, by file of its tests.
SMG_FILES = {
    "tool-parser-*/tests/tool_parser_qwen.rs": ("hermes", "qwen", "qwen3"),
    "tool-parser-*/tests/tool_parser_qwen_dotted.rs": ("hermes", "qwen", "qwen3"),
    "tool-parser-*/tests/tool_parser_qwen_xml.rs": ("qwen3_coder", "qwen_xml", "qwen3"),
    "tool-parser-*/tests/tool_parser_glm4_moe.rs": ("glm45", "glm45_moe", "glm45"),
    "tool-parser-*/tests/tool_parser_glm47_moe.rs": ("glm45", "glm47_moe", "glm45"),
    "tool-parser-*/tests/tool_parser_kimik2.rs": ("kimi_k2", "kimik2", "kimi"),
    "tool-parser-*/tests/tool_parser_deepseek.rs": ("deepseek_v3", "deepseek", "deepseek_r1"),
    "tool-parser-*/tests/tool_parser_deepseek31.rs": ("deepseek_v31", "deepseek31", "deepseek_r1"),
    "tool-parser-*/tests/tool_parser_deepseek_dsml.rs": ("deepseek_v32", "deepseek32", "deepseek_r1"),
    "tool-parser-*/tests/tool_parser_mistral.rs": ("mistral", "mistral", ""),
    "tool-parser-*/tests/tool_parser_llama.rs": ("llama3_json", "llama", ""),
    "reasoning-parser-*/src/parsers/qwen3.rs": ("hermes", "qwen", "qwen3"),
    "reasoning-parser-*/src/parsers/glm45.rs": ("glm45", "glm45_moe", "glm45"),
    "reasoning-parser-*/src/parsers/deepseek_r1.rs": ("deepseek_v3", "deepseek", "deepseek_r1"),
}

# What a string of SMG's tests must have to be an input.
INPUT = re.compile(
    r"</?tool_call>|<function=|<arg_key>|<\|tool_call|<｜tool▁|<｜DSML｜|\[TOOL_CALLS\]|<\|python_tag\|>|</?think>|"
    r'^\s*\{\s*"name"'
)

STRING = re.compile(r"""//[^\n]*|'(?:\\.|[^'\\])'|r(\#*)"(.*?)"\1|"((?:\\.|[^"\\])*)\"""", re.DOTALL)
ESCAPE = re.compile(r"\\(u\{([0-9a-fA-F]+)\}|\n\s*|.)", re.DOTALL)


BETWEEN = re.compile(r"(\.to_string\(\)|\.into\(\))?\s*,\s*")


def strings(source):
    """Yields the strings of a Rust file. Strings of a list are pieces of one text."""
    plain = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}

    def spelled(m):
        if m[2]:
            return chr(int(m[2], 16))
        return "" if m[1].startswith("\n") else plain.get(m[1], m[1])

    pieces, end = [], 0
    for m in STRING.finditer(source):
        if m[2] is None and m[3] is None:
            continue
        between = source[end : m.start()]
        if pieces and not BETWEEN.fullmatch(between) or pieces and not listed:
            yield "".join(pieces)
            pieces = []
        if not pieces:
            listed = between.rstrip().endswith("[")
        pieces.append(m[2] if m[2] is not None else ESCAPE.sub(spelled, m[3]))
        end = m.end()
    yield "".join(pieces)


def declared(tools):
    """Returns tools of a test, which may be mocks, as a request has them."""
    found = []
    for tool in tools or []:
        function = getattr(tool, "function", None) or tool
        name, parameters = getattr(function, "name", None), getattr(function, "parameters", None)
        if isinstance(tool, dict):
            name, parameters = tool.get("function", tool).get("name"), tool.get("function", tool).get("parameters")
        if isinstance(name, str):
            parameters = parameters if isinstance(parameters, dict) else {"type": "object", "properties": {}}
            found.append({"type": "function", "function": {"name": name, "parameters": parameters}})
    return found


def called(answer):
    """Returns declarations of the functions that an answer calls, for a test that declares none."""
    return declared({"name": name} for name in sorted({name for name, _ in answer.get("calls", [])}))


class Recorder:
    """A plugin of pytest that records what tests give the parsers."""

    def __init__(self):
        self.inputs, self.depth, self.pieces = {}, 0, {}

    def form(self):
        path = os.environ.get("PYTEST_CURRENT_TEST", "").split("::")[0]
        return next((form for file, form in VLLM_FILES.items() if path.endswith(file)), None)

    def add(self, form, text, tools):
        if form and isinstance(text, str) and text:
            self.inputs.setdefault((form, text), declared(tools))

    def wrap(self, kind, method, piece):
        """Has a method of a class of parsers record its text, or a piece of it."""
        inner = kind.__dict__[method]

        def outer(parser, *args, **kwargs):
            if self.depth == 0:
                named = dict(zip(inner.__code__.co_varnames[1:], args)) | kwargs
                request = named.get("request")
                tools = getattr(parser, "tools", None) or getattr(request, "tools", None)
                tools = tools if isinstance(tools, list) else []
                if piece:
                    part = named.get("delta_text")
                    if isinstance(part, str):
                        self.pieces.setdefault(id(parser), [parser, "", tools])[1] += part
                else:
                    self.add(self.form(), named.get("model_output"), tools)
            self.depth += 1
            try:
                return inner(parser, *args, **kwargs)
            finally:
                self.depth -= 1

        outer.__code__ = outer.__code__.replace(co_name=method)
        setattr(kind, method, outer)

    def watch(self, base):
        for kind in [base, *subclasses(base)]:
            for method, piece in METHODS.items():
                if isinstance(kind.__dict__.get(method), types.FunctionType):
                    self.wrap(kind, method, piece)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self):
        self.pieces = {}
        yield
        for _, text, tools in self.pieces.values():
            self.add(self.form(), text, tools)


METHODS = {
    "extract_tool_calls": False,
    "extract_tool_calls_streaming": True,
    "extract_reasoning": False,
    "extract_reasoning_streaming": True,
    "parse": False,
    "parse_delta": True,
}


def subclasses(kind):
    for sub in kind.__subclasses__():
        yield sub
        yield from subclasses(sub)


def record(folder):
    """Runs vLLM's tests, and returns the recorder."""
    import transformers
    import vllm.tokenizers
    from vllm.parser.abstract_parser import Parser
    from vllm.parser.parser_manager import ParserManager
    from vllm.reasoning import ReasoningParser
    from vllm.tool_parsers import ToolParser

    t = generate.tokenizer()
    vllm.tokenizers.get_tokenizer = lambda *_, **__: t
    transformers.AutoTokenizer.from_pretrained = lambda *_, **__: t
    for calls, reasoning in generate.PARSERS.values():  # so that their classes are there
        ParserManager.get_parser(calls, reasoning, enable_auto_tools=True, tokenizer=t)
    recorder = Recorder()
    for base in (ToolParser, ReasoningParser, Parser):
        recorder.watch(base)
    root = next(folder.glob("vllm-*"))
    sys.path.insert(0, str(root))
    os.chdir(root)
    files = [str(root / "tests" / file) for file in VLLM_FILES]
    pytest.main(
        ["-q", "-x", "--maxfail=100000", "--no-header", "--tb=no", "-p", "no:cacheprovider", f"--rootdir={root}", *files],
        plugins=[recorder],
    )
    return recorder


def vllm_vectors(folder):
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.parser.parser_manager import ParserManager

    inputs = record(folder).inputs
    t = generate.tokenizer()
    for (form, text), tools in sorted(inputs.items(), key=lambda item: item[0]):
        calls, reasoning = generate.PARSERS[form]
        kind = ParserManager.get_parser(calls, reasoning, enable_auto_tools=True, tokenizer=t)
        request = ChatCompletionRequest(
            model="m", messages=[{"role": "user", "content": "x"}], tools=tools or None,
            tool_choice="auto" if tools else None,
        )  # fmt: skip
        thinks = "<think>" in text or "</think>" in text
        parser = kind(t, request.tools, chat_template_kwargs={"enable_thinking": thinks, "thinking": thinks})
        whole = generate.whole(parser, text, request)
        yield {"form": form, "text": text, "tools": tools or called(whole), "whole": whole}


class SMG:
    """The running program: it has paths for its parsers, which need no server."""

    def __init__(self, program):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.process = subprocess.Popen(
            [program, "launch", "--host", "127.0.0.1", "--port", str(self.port), "--worker-urls", "http://127.0.0.1:9"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for _ in range(600):
            try:
                self.ask("/parse/reasoning", {"text": "", "reasoning_parser": "qwen3"})
                return
            except OSError:
                time.sleep(0.1)
        raise SystemExit("smg does not listen")

    def ask(self, path, body):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        c.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        return json.loads(c.getresponse().read())

    def read(self, text, calls, reasoning):
        thoughts = ""
        if reasoning and "think>" in text:  # by itself deepseek_r1 takes all other text for reasoning
            got = self.ask("/parse/reasoning", {"text": text, "reasoning_parser": reasoning})
            if not got.get("success"):
                return {"error": "reasoning"}
            thoughts, text = got["reasoning_text"], got["normal_text"]
        got = self.ask("/parse/function_call", {"text": text, "tool_call_parser": calls, "tools": []})
        if not got.get("success"):
            return {"error": "calls"}
        return generate.shown(thoughts, got["remaining_text"], [c["function"] for c in got["tool_calls"]])


def smg_vectors(folder, program):
    smg = SMG(program)
    try:
        for pattern, (form, calls, reasoning) in SMG_FILES.items():
            source = next(folder.glob(pattern)).read_text(encoding="utf-8")
            for text in dict.fromkeys(strings(source)):
                if not INPUT.search(text):
                    continue
                newer = "deepseek_v4" if "｜DSML｜tool_calls>" in text else calls
                whole = smg.read(text, newer, reasoning)
                yield {"form": form, "text": text, "tools": called(whole), "whole": whole}
    finally:
        smg.process.kill()
        smg.process.wait()


def templates(folder):
    """Returns the response templates by name that transformers has, and those of vLLM's tests, which are of models."""
    from transformers.cli.serving import utils

    found = {"transformers " + kinds[0]: t for kinds, t in utils._RESPONSE_TEMPLATE_FALLBACKS.items()}
    sys.path.insert(0, str(next(folder.glob("vllm-*"))))
    from tests.parser import test_chat_parsing

    for name, value in vars(test_chat_parsing).items():
        if name.endswith("_template") and isinstance(value, dict):
            found["vllm " + name.removesuffix("_template")] = value
    return found


def main():
    folder, out, program = (pathlib.Path(a).resolve() for a in sys.argv[1:4])
    out.mkdir(parents=True, exist_ok=True)
    for peer, vectors in (("smg", smg_vectors(folder, program)), ("vllm", vllm_vectors(folder))):
        lines = [json.dumps(v, ensure_ascii=False) for v in vectors]
        (out / f"{peer}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{peer}: {len(lines)} inputs", flush=True)
    (out / "templates.json").write_text(json.dumps(templates(folder), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
