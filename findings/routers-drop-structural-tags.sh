#!/usr/bin/env bash
# SGLang's structural tag in a request that goes through a router.
#
# Software: smg 1.13.0, sglang-router 0.3.2 and vllm-router 0.1.17 (PyPI), with their defaults, before a server of ours
# that notes what comes to /generate.
# A good guess: a router that serves /generate passes sampling_params on, or refuses what it does not know.
# Seen: all three answer 200, and the server gets the ids and max_new_tokens, but no structural_tag.
# Consequence: an answer that was to have a form is free text, with 200. Neither the client nor the server can tell.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
dir="$(mktemp -d)"
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$dir"' EXIT
cat >"$dir/server.py" <<'PY'
"""A server that says yes to every question of a router, and writes the bodies that come to /generate into a file."""
import http.server
import json
import sys

class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, value):
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        model = {"id": "m", "object": "model", "owned_by": "sglang"}
        self.answer({"data": [model], "model_path": "m", "served_model_name": "m", "is_generation": True})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/generate":
            with open(sys.argv[1], "w") as file:
                json.dump(body, file)
        self.answer({"text": "Hi", "meta_info": {"finish_reason": {"type": "stop"}, "completion_tokens": 1}})

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(server.server_address[1], flush=True)
server.serve_forever()
PY
cat >"$dir/ask.py" <<'PY'
"""Asks a router until it has found its server, and prints what the server got."""
import json
import sys
import time
import urllib.error
import urllib.request

url, noted, name = sys.argv[1:]
tag = json.dumps({"type": "structural_tag", "format": {"type": "const_string", "value": "a"}})
body = {"input_ids": [1, 2], "sampling_params": {"max_new_tokens": 4, "structural_tag": tag}}
request = urllib.request.Request(url + "/generate", json.dumps(body).encode(), {"Content-Type": "application/json"})
end = time.monotonic() + 90
while True:
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            status = answer.status
        break
    except (urllib.error.URLError, ConnectionError) as e:
        if time.monotonic() > end:
            sys.exit(f"{name}: {e}")
        time.sleep(0.2)
with open(noted) as file:
    got = json.load(file)
print(f"{name}: {status}, ids {got['input_ids']}, max_new_tokens {got['sampling_params'].get('max_new_tokens')},",
      f"structural_tag {got['sampling_params'].get('structural_tag')}")
PY
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# through NAME VENV COMMAND…: installs a router, starts it before the server, and asks.
through() {
  local name="$1" requirements="$root/tools/python/$2.txt" port server
  shift 2
  python3 -m venv "$dir/$name"
  "$dir/$name/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$requirements"
  python3 "$dir/server.py" "$dir/$name.json" >"$dir/$name.port" &
  until [[ -s "$dir/$name.port" ]]; do sleep 0.1; done
  server="http://127.0.0.1:$(<"$dir/$name.port")" port="$(free_port)"
  "$dir/$name/bin/$1" "${@:2}" --host 127.0.0.1 --port "$port" --prometheus-host 127.0.0.1 \
    --prometheus-port "$(free_port)" --worker-urls "$server" >"$dir/$name.log" 2>&1 &
  python3 "$dir/ask.py" "http://127.0.0.1:$port" "$dir/$name.json" "$name"
}
{
  through smg router-smg smg launch
  through sglang-router router-sglang python -m sglang_router.launch_router
  through vllm-router router-vllm vllm-router
} >"$dir/seen"
cat "$dir/seen"
cat >"$dir/want" <<'WANT'
smg: 200, ids [1, 2], max_new_tokens 4, structural_tag None
sglang-router: 200, ids [1, 2], max_new_tokens 4, structural_tag None
vllm-router: 200, ids [1, 2], max_new_tokens 4, structural_tag None
WANT
diff "$dir/want" "$dir/seen" || { echo "this has changed" >&2; exit 1; }
