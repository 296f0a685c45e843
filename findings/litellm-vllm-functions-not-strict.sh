#!/usr/bin/env bash
# A strict function that litellm sends to vLLM by Chat.
#
# Software: litellm 1.110.2 (PyPI), before a server of ours that notes what comes. Its proxy, 1.108.7, does the same.
# A good guess: `strict` arrives, and the server does what it can; or it is refused by UnsupportedParamsError, as
# litellm refuses `verbosity` here, since drop_params is not set.
# Seen: by hosted_vllm/ the function arrives without `strict` and without `additionalProperties: false`, and nothing
# says so. By openai/ to the same server it arrives whole, and so does a strict response_format by either.
# Consequence: a server that enforces strict functions is not asked to. Arguments may break their schema, with 200.
set -euo pipefail

dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check litellm==1.110.2
cat >"$dir/ask.py" <<'PY'
import http.server
import json
import os
import threading

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm  # noqa: E402

got = []


class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        message = {"role": "assistant", "content": "Hi"}
        answer = {"id": "a", "object": "chat.completion", "created": 1, "model": "m",
                  "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                  "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
schema = {"type": "object", "properties": {}, "additionalProperties": False}
tools = [{"type": "function", "function": {"name": "f", "parameters": schema, "strict": True}}]
form = {"type": "json_schema", "json_schema": {"name": "n", "schema": schema, "strict": True}}


def ask(provider, **more):
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    messages = [{"role": "user", "content": "Hi"}]
    litellm.completion(model=f"{provider}/m", api_base=url, api_key="none", messages=messages, num_retries=0, **more)
    return got[-1]


for provider in ("hosted_vllm", "openai"):
    print(provider, json.dumps(ask(provider, tools=tools)["tools"][0]["function"]))
    print(provider, "response_format as sent:", ask(provider, response_format=form)["response_format"] == form)
try:
    ask("hosted_vllm", verbosity="low")
except litellm.UnsupportedParamsError:
    print("hosted_vllm refuses verbosity")
PY
seen="$("$dir/venv/bin/python" "$dir/ask.py")"
expected='hosted_vllm {"name": "f", "parameters": {"type": "object", "properties": {}}}
hosted_vllm response_format as sent: True
openai {"name": "f", "parameters": {"type": "object", "properties": {}, "additionalProperties": false}, "strict": true}
openai response_format as sent: True
hosted_vllm refuses verbosity'
printf '%s\n' "$seen"
[[ "$seen" == "$expected" ]] || { echo "This has changed. Expected:"; echo "$expected"; exit 1; }
