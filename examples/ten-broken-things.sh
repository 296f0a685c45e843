#!/usr/bin/env bash
# Ten things that go wrong, what an operator types, and the line that tells him what to do. It writes the page
# docs/ten-broken-things.md to standard output, and fails if a line is not there. The servers are simulated (harmony
# sim), and the filter runs without Envoy. Ports and folders are always the same in the page.
#
# `make ten-broken-things` builds what it needs and writes the page.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export HARMONY_WASM="${HARMONY_WASM:-$ROOT/dist/harmony-filter.wasm}"
HARMONY_BIN="${HARMONY_BIN:-$ROOT/dist/harmony}"
PATIENCE="${PATIENCE:-60}" # seconds

work="$(mktemp -d)"
pids=()
stop_all() {
  local rc=$? pid
  trap - EXIT
  for pid in ${pids[@]+"${pids[@]}"}; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$work"
  exit "$rc"
}
trap stop_all EXIT

die() {
  printf 'NOT AS IT SHOULD BE: %s\n' "$*" >&2
  exit 1
}

harmony() { "$HARMONY_BIN" "$@"; }

# background COMMAND…: starts a program of harmony. $! is then the program's own process, and not a shell's around it.
background() {
  shift
  "$HARMONY_BIN" "$@" &
}

# stand_in NAME COMMAND…: starts a program whose output has its address, and sets the variable NAME to host:port.
stand_in() {
  local name="$1" out="$work/$1.out" i
  shift
  background "$@" >"$out" 2>&1
  pids+=($!)
  for ((i = 0; i < PATIENCE * 20; i++)); do
    if grep -qE '127\.0\.0\.1:[1-9][0-9]*' "$out"; then
      printf -v "$name" '%s' "$(grep -oE '127\.0\.0\.1:[1-9][0-9]*' "$out" | head -n 1)"
      return
    fi
    sleep 0.05
  done
  die "$name does not start: $(cat "$out")"
}

# plain makes the output the same in each run. A slow machine has a note of what it waits for.
plain() {
  sed -E -e "s#${server:-none}#127.0.0.1:8000#g; s#${sglang:-none}#127.0.0.1:8001#g" \
    -e "s#${gateway:-none}#127.0.0.1:8080#g; s#${keyed:-none}#127.0.0.1:8081#g" \
    -e "s#${nothing}\b#127.0.0.1:9000#g; s#$work/##g; s#$work#.#g" \
    -e 's#http://127\.0\.0\.1:[0-9]{5}#http://127.0.0.1:PORT#g; s#^time=[^ ]+ ##; s/[[:space:]]+$//; /^note: waiting for /d'
}

number=0
# broken TITLE LINE COMMAND…: runs a command that fails, or shows that something does not work, and says which line of
# its output helps. A command that runs on is stopped once it has printed the line.
# shellcheck disable=SC2016 # backticks of Markdown
broken() {
  local title="$1" line="$2" shown="$3" said
  shift 3
  number=$((number + 1))
  said="$("$@" 2>&1 </dev/null || true)"
  said="$(printf '%s\n' "$said" | plain)"
  grep -qF -- "$line" <<<"$said" || die "$title: no line with $line in: $said"
  printf '\n## %d. %s\n\n```console\n$ %s\n%s\n```\n\nThe line says: **%s**\n' "$number" "$title" "$shown" "$said" \
    "$line"
}

# until_said LINE COMMAND…: runs a program until it has printed a line, and prints all that it has said.
until_said() {
  local line="$1" out="$work/until.out" pid i
  shift
  background "$@" >"$out" 2>&1
  pid=$!
  for ((i = 0; i < PATIENCE * 20; i++)); do
    grep -qF -- "$line" "$out" && break
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.05
  done
  kill "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  cat "$out"
}

cd "$work"
nothing=127.0.0.1:9
stand_in server harmony sim --listen 127.0.0.1:0 --model openai/gpt-oss-120b --quiet
stand_in sglang harmony sim --listen 127.0.0.1:0 --kind sglang --model openai/gpt-oss-120b --quiet
stand_in gateway harmony up --host wazero --listen 127.0.0.1:0 --model gpt-oss-120b --server-model openai/gpt-oss-120b \
  --backend "vllm=http://$server"
hash="$(printf sk-mine | sha256sum | cut -d ' ' -f 1)"
printf 'clients:\n  - name: me\n    hashes: ["sha256:%s"]\n' "$hash" >keys.yaml
cat >keyed.yaml <<EOF
listen: 127.0.0.1:0
clients: { keys_file: keys.yaml }
models: [{ name: gpt-oss-120b, server_model: openai/gpt-oss-120b, pool: gpus }]
pools: [{ name: gpus, servers: ['http://$server'] }]
EOF
stand_in keyed harmony up --host wazero --config keyed.yaml

cat <<'EOF'
# Ten broken things

What an operator types when something is wrong, what he sees, and the line that tells him what to do. `make
ten-broken-things` runs all of it and writes this page. `make operator-day` breaks servers under load, and [the
runbook](runbook.md) begins with what an alert says.
EOF

broken "The server is not there" "check that the server is started, and its address" \
  "harmony up http://127.0.0.1:9000" harmony up "http://$nothing"
broken "A command of another program" "did you mean harmony up?" "harmony serve --config config.yaml" \
  harmony serve --config config.yaml

printf 'models:\n  - name: a\n\tpool: gpus\n' >tab.yaml
broken "A tab in the file" "a tab; indent with spaces" "harmony controlplane validate tab.yaml" \
  harmony controlplane validate tab.yaml
printf '%s\n' 'models: [{ name: gpt-oss-120b, pool: gpu }]' \
  'pools: [{ name: gpus, server: http://gpu:8000 }]' >words.yaml
broken "Words that are not quite right" "did you mean servers?" "harmony controlplane validate words.yaml" \
  harmony controlplane validate words.yaml
broken "The model has another name at the server" "add --server-model openai/gpt-oss-120b" \
  "harmony up --model gpt-oss-120b --backend vllm=http://127.0.0.1:8000" \
  until_said "server-model" harmony up --host wazero --listen 127.0.0.1:0 --model gpt-oss-120b \
  --backend "vllm=http://$server"
broken "The server is of another kind" "write sglang=http://127.0.0.1:8001, or ask harmony probe" \
  "harmony up --model gpt-oss-120b --server-model openai/gpt-oss-120b --backend vllm=http://127.0.0.1:8001" \
  until_said "or ask harmony probe" harmony up --host wazero --listen 127.0.0.1:0 --model gpt-oss-120b \
  --server-model openai/gpt-oss-120b --backend "vllm=http://$sglang"
broken "The port is taken" "stop what listens there, or choose another address with --listen" \
  "harmony up --listen 127.0.0.1:8080 http://127.0.0.1:8000" \
  harmony up --host wazero --listen "$gateway" "http://$server"
get() { curl -sS -i "http://$gateway/v1/chat/completions" | tr -d '\r' | grep -iE '^HTTP|^allow|^\{'; }
broken "The client sends GET" "This URL takes POST requests only." \
  "curl -si http://127.0.0.1:8080/v1/chat/completions" get
broken "The client has no key" "Send it in an Authorization header, as Bearer and your key." \
  "curl -s http://127.0.0.1:8081/v1/chat/completions -H 'content-type: application/json' -d '{…}'" \
  curl -sS "http://$keyed/v1/chat/completions" -H 'content-type: application/json' \
  -d '{"model":"gpt-oss-120b","messages":[]}'
printf '%s\n' 'listen: 0.0.0.0:8080' 'clients: { keys_file: keys.yaml }' 'models: [{ name: a, pool: p }]' \
  "pools: [{ name: p, servers: ['http://gpu:8000'] }]" >unwise.yaml
broken "Nothing is wrong yet" "write: listeners:" "harmony analyze unwise.yaml" harmony analyze unwise.yaml
[[ "$number" == 10 ]] || die "$number things"
