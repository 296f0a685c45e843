#!/usr/bin/env bash
# The demonstration: a simulated GPU server, Envoy with the Harmony filter in front of it, and OpenAI's own client.
# `make demo` builds what it needs and runs it; with HOST=wazero the filter runs without Envoy. It takes free ports, and
# leaves nothing behind.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
export ENVOY="${ENVOY:-$ROOT/.tools/bin/envoy}"
HARMONY_BIN="${HARMONY_BIN:-$ROOT/dist/harmony}"
HARMONY_WASM="${HARMONY_WASM:-$ROOT/dist/harmony-filter.wasm}"
HARMONY_OPENAI_PYTHON="${HARMONY_OPENAI_PYTHON:-$ROOT/.tools/venv/openai/bin/python}"
HOST="${HOST:-envoy}"
DEMO_TOKENS_PER_SECOND="${DEMO_TOKENS_PER_SECOND:-50}"
MODEL=gpt-oss-120b
READY_SECONDS=60

logs="$(mktemp -d)"
started=()

# Every way out leads through here: what was started is told to stop, newest first, and waited for.
stop() {
  local rc=$? i
  trap - EXIT
  for ((i = ${#started[@]} - 1; i >= 0; i--)); do
    kill "${started[i]}" 2>/dev/null || true
    wait "${started[i]}" 2>/dev/null || true
  done
  rm -rf "$logs"
  if ((rc > 128)) && [[ -t 1 ]]; then
    printf '\033[0m\n' # the client was stopped in the middle of a line
  fi
  exit "$rc"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

needed=("$HARMONY_BIN" "$HARMONY_WASM" "$HARMONY_OPENAI_PYTHON")
case "$HOST" in
  envoy)
    needed+=("$ENVOY")
    about="Envoy with the Harmony filter; speaks OpenAI's APIs"
    ;;
  wazero) about="the Harmony filter without Envoy; speaks OpenAI's APIs" ;;
  *) die "HOST=$HOST is not known; write envoy or wazero" ;;
esac
for file in "${needed[@]}"; do
  [[ -e "$file" ]] || die "$file is missing; \`make demo\` makes everything that the demonstration needs"
done

# start NAME COMMAND...: runs it in the background, with its output in $logs/NAME.out and .err.
start() {
  local name="$1"
  shift
  "$@" >"$logs/$name.out" 2>"$logs/$name.err" &
  started+=("$!")
}

# await NAME PATTERN: waits for the line with which what start has just run says that it is ready, and prints it.
await() {
  local name="$1" pattern="$2" pid="${started[-1]}" deadline=$((SECONDS + READY_SECONDS)) line
  while true; do
    if line="$(grep -m 1 -E "$pattern" "$logs/$name.out")"; then
      printf '%s\n' "$line"
      return
    fi
    if ! kill -0 "$pid" 2>/dev/null || ((SECONDS >= deadline)); then
      cat "$logs/$name.out" "$logs/$name.err" >&2
      die "harmony $name is not ready; it said what stands above"
    fi
    sleep 0.05
  done
}

start sim "$HARMONY_BIN" sim --listen 127.0.0.1:0 --model "$MODEL" \
  --tokens-per-second "$DEMO_TOKENS_PER_SECOND" --ttft 200ms
server="$(await sim '^http://')"

start up "$HARMONY_BIN" up --host "$HOST" --listen 127.0.0.1:0 --wasm "$HARMONY_WASM" --model "$MODEL" --backend "vllm=$server"
gateway="$(await up '^listening on ')"
gateway="${gateway#listening on }"

cat <<EOT
harmony sim   $server   stands for a GPU server: vLLM's API, in token ids; no GPU, no model
harmony up    $gateway   $about
client        OpenAI's Python client, unchanged
EOT

# In the background, so that a signal ends the wait for it at once.
"$HARMONY_OPENAI_PYTHON" "$ROOT/examples/demo/client.py" "$gateway/v1" "$MODEL" &
client=$!
started+=("$client")
if ! wait "$client"; then
  cat "$logs/up.err" "$logs/sim.err" >&2
  die "the client failed; what the gateway and the server said stands above"
fi

cat <<EOT

What to do next:
  your server      $HARMONY_BIN up http://GPU:8000
  in the terminal  $HARMONY_BIN chat, while that runs
  settings         docs/configuration.md; many Envoys: docs/control-plane.md; all pages: docs/README.md
EOT
