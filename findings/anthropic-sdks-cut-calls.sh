#!/usr/bin/env bash
# A tool call that the token limit cuts, in the stream helpers of Anthropic's two SDKs.
#
# Software: anthropic 2.14.0 (PyPI), @anthropic-ai/sdk 1.14.0 (npm), Node.js 20 or newer. The server streams a message
# as Anthropic's API does when max_tokens is reached within the input of a tool: the pieces of the input end in its
# middle, the block is closed, and stop_reason is max_tokens.
# A good guess: the input is marked as incomplete, or both libraries have the same of it.
# Seen: `input` is a whole object of what came before the cut, in both. A list has fewer elements, a cut text and a cut
# word are gone with their names. Of a cut number Python has the digits so far (10, which may have been 1000), and
# TypeScript has no member. Nothing at the block says that it was cut, and its text is not kept.
# Consequence: a loop that runs the calls it finds runs another call than the model has begun. Look at stop_reason first.
set -euo pipefail

dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check anthropic==2.14.0
echo '{"private":true,"type":"module"}' >package.json
npm install --silent --no-audit --no-fund @anthropic-ai/sdk@1.14.0
cat >try.mjs <<'JS'
import Anthropic from '@anthropic-ai/sdk'

const [url, ...models] = process.argv.slice(2)
const client = new Anthropic({apiKey: 'k', baseURL: url, maxRetries: 0})
for (const model of models) {
  const message = await client.messages.stream({model, max_tokens: 9, messages: [{role: 'user', content: 'x'}]})
    .finalMessage()
  console.log('TypeScript', model, message.stop_reason, JSON.stringify(message.content[0].input))
}
JS
cat >try.py <<'PY'
import http.server
import json
import subprocess
import threading

import anthropic

INPUTS = {
    "a text": ['{"keep":true,"path":"/srv/', "data/ol"],
    "a number": ['{"keep":true,"limit":10'],
    "a list": ['{"paths":["/a","/b","/c'],
    "a word": ['{"path":"/srv","recursive":fal'],
}


def event(name, **members):
    return f"event: {name}\ndata: {json.dumps({'type': name, **members})}\n\n"


class Server(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_POST(self):
        model = json.loads(self.rfile.read(int(self.headers["content-length"])))["model"]
        usage = {"input_tokens": 5, "output_tokens": 1}
        text = event("message_start", message={
            "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [], "stop_reason": None,
            "stop_sequence": None, "usage": usage})
        text += event("content_block_start", index=0, content_block={
            "type": "tool_use", "id": "toolu_1", "name": "f", "input": {}})
        for piece in INPUTS[model]:
            text += event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": piece})
        text += event("content_block_stop", index=0)
        text += event("message_delta", delta={"stop_reason": "max_tokens", "stop_sequence": None},
                      usage={"output_tokens": 9})
        body = (text + event("message_stop")).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
client = anthropic.Anthropic(api_key="k", base_url=url, max_retries=0)
for model in INPUTS:
    with client.messages.stream(model=model, max_tokens=9, messages=[{"role": "user", "content": "x"}]) as stream:
        message = stream.get_final_message()
    arguments = json.dumps(message.content[0].input, separators=(",", ":"))
    print("Python", model, message.stop_reason, arguments, flush=True)
subprocess.run(["node", "try.mjs", url, *INPUTS], check=True)
PY
venv/bin/python try.py | tee seen
diff seen - <<'WANT'
Python a text max_tokens {"keep":true}
Python a number max_tokens {"keep":true,"limit":10}
Python a list max_tokens {"paths":["/a","/b"]}
Python a word max_tokens {"path":"/srv"}
TypeScript a text max_tokens {"keep":true}
TypeScript a number max_tokens {"keep":true}
TypeScript a list max_tokens {"paths":["/a","/b"]}
TypeScript a word max_tokens {"path":"/srv"}
WANT
