#!/usr/bin/env bash
# An operator's day: the model's name is wrong at first, the servers of a pool die, their spare helps out and dies too,
# and all of them come back. Servers refuse the gateway's key, are of another kind, or answer 200 and fail before their
# first token. It prints what the operator types and sees, and fails if a step is not as it should be.
#
# `make operator-day` builds what it needs and runs it. The servers are simulated (harmony sim). It takes free ports on
# loopback, and leaves nothing behind.
set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export ENVOY="${ENVOY:-$ROOT/.tools/bin/envoy}"
export HARMONY_WASM="${HARMONY_WASM:-$ROOT/dist/harmony-filter.wasm}"
HARMONY_BIN="${HARMONY_BIN:-$ROOT/dist/harmony}"
PATIENCE="${PATIENCE:-60}" # seconds
REQUESTS=20

logs="$(mktemp -d)"
declare -A pids=()

# Every way out leads through here: what was started is stopped and waited for.
stop_all() {
  local rc=$? name
  trap - EXIT
  for name in "${!pids[@]}"; do
    kill "${pids[$name]}" 2>/dev/null || true
    wait "${pids[$name]}" 2>/dev/null || true
  done
  rm -rf "$logs"
  exit "$rc"
}
trap stop_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

die() {
  printf 'NOT AS IT SHOULD BE: %s\n' "$*" >&2
  exit 1
}

for file in "$HARMONY_BIN" "$HARMONY_WASM" "$ENVOY"; do
  [[ -e "$file" ]] || die "$file is missing; make operator-day makes everything that this needs"
done

heading() { printf '\n== %s\n' "$*"; }

# start NAME COMMAND...: runs it in the background, with its output in $logs/NAME.out and .err.
start() {
  local name="$1"
  shift
  : >"$logs/$name.out" 2>"$logs/$name.err" # else what another one of that name has said is read until this one runs
  "$@" >"$logs/$name.out" 2>"$logs/$name.err" &
  pids[$name]=$!
}

# end NAME [SIGNAL]
end() {
  kill "-${2:-TERM}" "${pids[$1]}"
  wait "${pids[$1]}" 2>/dev/null || true
  unset "pids[$1]"
}

# flat TEXT: the text with one space in place of all white space. harmony status breaks long lines.
flat() { tr -s '[:space:]' ' ' <<<"$1"; }

# await TEXT COMMAND...: waits until the command prints the text, whatever its exit status is, and keeps what it printed
# in $said.
await() {
  local text="$1" limit=$((SECONDS + PATIENCE))
  shift
  while said="$("$@" 2>&1 || true)" && [[ "$(flat "$said")" != *"$text"* ]]; do
    ((SECONDS < limit)) || die "$* does not print \"$text\", but: $said"
    sleep 0.1
  done
}

# sees TEXT: the last output has it.
sees() { [[ "$(flat "$said")" == *"$1"* ]] || die "no \"$1\" in: $said"; }

# sim NAME ADDRESS MODEL [FLAG...]: starts a server; its URL is in $url.
sim() {
  start "$1" "$HARMONY_BIN" sim --listen "$2" --model "$3" --quiet "${@:4}"
  await 'http://' cat "$logs/$1.out"
  url="$said"
}

# ask GATEWAY [MODEL]: a request; prints the status and the body.
ask() {
  curl --silent --show-error --max-time "$PATIENCE" --write-out '\n%{http_code}\n' "$1/v1/chat/completions" \
    --header 'content-type: application/json' \
    --data '{"model":"'"${2:-gpt-oss-120b}"'","messages":[{"role":"user","content":"Say hello."}]}' | tac
}

# ask_often GATEWAY [MODEL]: many requests, one after the other; prints how often each status came.
ask_often() {
  local i
  for ((i = 0; i < REQUESTS; i++)); do ask "$@" | head -n 1; done | sort | uniq -c |
    sed 's/^ */  /; s/ \([0-9]*\)$/ × \1/'
}

# status WANTED: harmony status, whose exit status must become the one wanted.
status() {
  local code limit=$((SECONDS + PATIENCE))
  while code=0 && said="$("$HARMONY_BIN" status --address "$status_address" 2>&1)" || code=$?; ((code != $1)); do
    ((SECONDS < limit)) || break # an Envoy may be about to accept what it was sent last
    sleep 0.1
  done
  printf '$ harmony status\n%s\n(exit status %s)\n' "$(sed -n '/^POOL/,$p' <<<"$said")" "$code"
  ((code == $1)) || die "the exit status is $code, not $1"
}

metric() { curl --silent --show-error "http://$status_address/metrics" | grep '^harmony_controlplane_pool_up'; }

for host in envoy wazero; do
  heading "The first mistake, --host $host: the server calls the model openai/gpt-oss-120b, and nobody has said so"
  sim first 127.0.0.1:0 openai/gpt-oss-120b
  server="$url"
  up=("$HARMONY_BIN" up --host "$host" --wasm "$HARMONY_WASM" --listen 127.0.0.1:0
    --model gpt-oss-120b --backend "vllm=$server")
  if [[ "$host" == envoy ]]; then up+=(--admin 127.0.0.1:0); fi
  start up "${up[@]}"
  await 'add --server-model' cat "$logs/up.err"
  printf '$ harmony up --host %s --model gpt-oss-120b --backend vllm=%s\n%s\n' "$host" "$server" \
    "$(grep '^warning: ' "$logs/up.err")"
  await 'listening on http://' cat "$logs/up.out"
  gateway="http://${said#*listening on http://}"
  gateway="${gateway%%$'\n'*}"
  said="$(ask "$gateway")"
  printf 'the client gets %s\n' "$said"
  sees '502'
  sees '"code":"server_model_not_found"'
  end up
  start up "${up[@]}" --server-model openai/gpt-oss-120b
  await 'listening on http://' cat "$logs/up.out"
  gateway="http://${said#*listening on http://}"
  gateway="${gateway%%$'\n'*}"
  said="$(ask "$gateway" | head -n 1)"
  printf '$ harmony up … --server-model openai/gpt-oss-120b\nthe client gets %s\n' "$said"
  sees '200'
  end up
  end first
done

heading 'A pool of two servers, and a spare'
names=(h200-a h200-b spare)
declare -A urls=()
for name in "${names[@]}"; do
  sim "$name" 127.0.0.1:0 gpt-oss-120b
  urls[$name]="$url"
done
cat >"$logs/config.yaml" <<END
listen: 127.0.0.1:0
models:
  - name: gpt-oss-120b
    pool: h200
pools:
  - name: h200
    servers: [${urls[h200-a]}, ${urls[h200-b]}]
    spares: [spare]
  - name: spare
    servers: [${urls[spare]}]
END
start plane "$HARMONY_BIN" controlplane --config "$logs/config.yaml" --listen 127.0.0.1:0 \
  --status 127.0.0.1:0 --state none --wasm "$HARMONY_WASM"
await '/status' cat "$logs/plane.out"
xds_address="$(sed -n 's/^serving Envoys on //p' "$logs/plane.out")"
status_address="$(sed -n 's#^status: http://\(.*\)/status$#\1#p' "$logs/plane.out")"
"$HARMONY_BIN" controlplane bootstrap --control-plane "$xds_address" --node edge-1 --admin 127.0.0.1:0 \
  >"$logs/bootstrap.json"
start envoy "$ENVOY" --config-path "$logs/bootstrap.json" --admin-address-path "$logs/admin" \
  --use-dynamic-base-id --concurrency 1 --log-level warning
await '127.0.0.1:' cat "$logs/admin"
admin="$said"
await 'harmony::' curl --silent "http://$admin/listeners"
gateway="http://${said#*harmony::}"
reached() { "$HARMONY_BIN" status --address "$status_address" --json 2>/dev/null | grep -c '"reach": 1'; }
refused() { "$HARMONY_BIN" status --address "$status_address" 2>/dev/null | grep -c 'no Envoy reaches it; connection refused'; }
await 3 reached
await 200 ask "$gateway" # Envoy's reports are ahead of its own health checks, or behind them
status 0
sees 'ready'
printf '%s requests:\n' "$REQUESTS"
said="$(ask_often "$gateway")"
printf '%s\n' "$said"
sees "$REQUESTS × 200"

heading 'Both servers of the pool are killed, and requests follow at once'
end h200-a KILL
end h200-b KILL
said="$(ask_often "$gateway")"
printf '%s requests:\n%s\n' "$REQUESTS" "$said"
sees "$REQUESTS × 200"
await 2 refused
await 'pool_up{pool="h200"} 0' metric
status 1
sees 'unreachable'
sees 'requests go to spare'
sees 'no server is reachable and ready in h200'
printf 'the log: %s\n' "$(grep 'a pool is down' "$logs/plane.err")"
said="$(metric)"
printf 'the metric:\n%s\n' "$said"
sees 'pool_up{pool="spare"} 1'

heading 'The spare is killed too'
end spare KILL
said="$(ask "$gateway")"
printf 'the client gets %s\n' "$said"
sees '503'
sees '"code":"server_unavailable"'
await 3 refused
await 'pool_up{pool="spare"} 0' metric
status 1
sees 'no server is reachable and ready in h200, spare'

heading 'All of them are back'
for name in "${names[@]}"; do
  sim "$name" "${urls[$name]#http://}" gpt-oss-120b
done
await 3 reached
await 'pool_up{pool="h200"} 1' metric
await 'pool_up{pool="spare"} 1' metric
await 200 ask "$gateway"
status 0
said="$(ask_often "$gateway")"
printf '%s requests:\n%s\n' "$REQUESTS" "$said"
sees "$REQUESTS × 200"
said="$(grep 'a pool is' "$logs/plane.err" | sed 's/^[^ ]* //')"
printf 'the log of the day:\n%s\n' "$said"
sees 'a pool is up again'

# fleet NAME: a control plane with $logs/NAME.yaml and an Envoy; sets $status_address, $gateway and $admin.
fleet() {
  local name="$1"
  start "$name-plane" "$HARMONY_BIN" controlplane --config "$logs/$name.yaml" --listen 127.0.0.1:0 \
    --status 127.0.0.1:0 --state none --wasm "$HARMONY_WASM"
  await '/status' cat "$logs/$name-plane.out"
  xds_address="$(sed -n 's/^serving Envoys on //p' "$logs/$name-plane.out")"
  status_address="$(sed -n 's#^status: http://\(.*\)/status$#\1#p' "$logs/$name-plane.out")"
  "$HARMONY_BIN" controlplane bootstrap --control-plane "$xds_address" --node "$name" --admin 127.0.0.1:0 \
    >"$logs/$name-bootstrap.json"
  start "$name-envoy" "$ENVOY" --config-path "$logs/$name-bootstrap.json" \
    --admin-address-path "$logs/$name-admin" --use-dynamic-base-id --concurrency 1 --log-level warning
  await '127.0.0.1:' cat "$logs/$name-admin"
  admin="$said"
  await 'harmony::' curl --silent "http://$admin/listeners"
  gateway="http://${said#*harmony::}"
  gateway="${gateway%%$'\n'*}"
}
end_fleet() {
  end "$1-envoy"
  end "$1-plane"
}

# series NAME: the metrics of the control plane with this name.
series() { curl --silent --show-error "http://$status_address/metrics" | grep "^harmony_controlplane_$1{"; }

heading 'One of three servers has another key'
sim right-a 127.0.0.1:0 gpt-oss-120b --api-key right
right_a="$url"
sim right-b 127.0.0.1:0 gpt-oss-120b --api-key right
right_b="$url"
sim wrong 127.0.0.1:0 gpt-oss-120b --api-key another
wrong="$url"
printf right >"$logs/key"
cat >"$logs/keyed.yaml" <<END
listen: 127.0.0.1:0
models: [{ name: gpt-oss-120b, pool: h200 }]
secrets: [{ name: vllm-key, file: key }]
pools:
  - name: h200
    authorization: vllm-key
    servers: [$right_a, $right_b, $wrong]
END
fleet keyed
await 'refusing_servers{cause="credentials",pool="h200"} 1' series refusing_servers
await 200 ask "$gateway"
status 1
sees 'answers 401 to POST /v1/completions: it refuses the authorization "vllm-key"'
sees "WARNING: 1 of 3 servers refuse all requests: $wrong"
said="$(ask_often "$gateway")"
printf '%s requests:\n%s\n' "$REQUESTS" "$said"
sees "$REQUESTS × 200"
said="$(series refusing_servers)"
printf 'the metric, and the alert HarmonyServerRefuses:\n%s\n' "$said"

heading 'The key of the gateway is rotated, and not that of the servers'
printf rotated >"$logs/key.new"
mv "$logs/key.new" "$logs/key"
await 'refusing_servers{cause="credentials",pool="h200"} 3' series refusing_servers
await '"code":"server_refused_credentials"' ask "$gateway"
printf 'the client gets %s\n' "$said"
sees '502'
status 1
sees 'no server is reachable and ready in h200'
printf 'the log: %s\n' "$(grep -m 1 'refuses its pool' "$logs/keyed-plane.err" | sed 's/^[^ ]* //')"
printf another >"$logs/key.new"
mv "$logs/key.new" "$logs/key"
await 'refusing_servers{cause="credentials",pool="h200"} 2' series refusing_servers
await 200 ask "$gateway"
said="$(ask_often "$gateway")"
printf 'one server takes the next key. %s requests:\n%s\n' "$REQUESTS" "$said"
sees "$REQUESTS × 200"
end_fleet keyed
end right-a
end right-b
end wrong

heading 'The kind is wrong: the pool says sglang, and the server is a vLLM'
sim misnamed 127.0.0.1:0 gpt-oss-120b
cat >"$logs/misnamed.yaml" <<END
listen: 127.0.0.1:0
models: [{ name: gpt-oss-120b, pool: h200 }]
pools:
  - name: h200
    kind: sglang
    health: { path: /health }
    servers: [$url]
END
fleet misnamed
await 'refusing_servers{cause="path",pool="h200"} 1' series refusing_servers
await '"code":"server_path_not_found"' ask "$gateway"
printf 'the client gets %s\n' "$said"
sees '502'
sees 'The kind may be wrong: harmony probe'
status 1
sees "answers 404 to POST /generate: the kind sglang may be wrong; ask harmony probe $url"
said="$("$HARMONY_BIN" probe "$url" 2>&1)"
printf '$ harmony probe %s\n%s\n' "$url" "$said"
sees 'vllm'
end_fleet misnamed
end misnamed

heading 'Pools, each with a server that answers 200 and fails before its first token, in a fleet and in harmony up'
# The ways to fail, and how the log says it.
ways=(dies drains empty hangs)
declare -A words=([dies]='broken off' [drains]=empty [empty]=empty [hangs]=silent)
printf '{"match":"hello","tokens":[],"finish":"abort"}\n' >"$logs/drains.jsonl" # a vLLM with --shutdown-timeout
sim well 127.0.0.1:0 gpt-oss-120b
well="$url"
declare -A faults=([dies]='--fault close:0' [drains]="--script $logs/drains.jsonl" [empty]='--fault no-finish:0'
  [hangs]='--fault stall:0')
{
  printf 'listen: 127.0.0.1:0\nstall_timeout: 1s\npools:\n'
  for way in "${ways[@]}"; do
    read -ra fault <<<"${faults[$way]}"
    sim "$way" 127.0.0.1:0 gpt-oss-120b "${fault[@]}"
    urls[$way]="$url"
    printf '  - { name: %s, policy: round_robin, servers: ["%s", "%s"] }\n' "$way" "$url" "$well"
  done
  printf '  - { name: alone, servers: ["%s"] }\n' "${urls[drains]}" # no other server can be asked
  printf 'models:\n'
  for way in "${ways[@]}" alone; do printf '  - { name: %s, pool: %s, server_model: gpt-oss-120b }\n' "$way" "$way"; done
} >"$logs/failing.yaml"
fleet failing
declare -A gateways=([fleet]="$gateway") statuses=([fleet]="$status_address")
declare -A its_log=([fleet]="$logs/failing-envoy.err")
for host in envoy wazero; do
  start "$host" "$HARMONY_BIN" up --host "$host" --wasm "$HARMONY_WASM" --admin 127.0.0.1:0 \
    --config "$logs/failing.yaml"
done
for host in envoy wazero; do
  await 'try:' cat "$logs/$host.out"
  gateways[$host]="http://$(sed -n 's#^listening on http://##p' "$logs/$host.out")"
  statuses[$host]="$(sed -n 's#^page.*: http://##p' "$logs/$host.out")"
  its_log[$host]="$logs/$host.err"
done
await 200 ask "${gateways[fleet]}" dies # as above
asking=()
for where in fleet envoy wazero; do # all at once, since a server that hangs is waited for
  for way in "${ways[@]}"; do
    ask_often "${gateways[$where]}" "$way" >"$logs/$where-$way.asked" &
    asking+=($!)
  done
done
wait "${asking[@]}"
for where in fleet envoy wazero; do
  printf '\n%s requests to each pool (%s):\n' "$REQUESTS" "$where"
  for way in "${ways[@]}"; do
    said="$(cat "$logs/$where-$way.asked")"
    printf '%s, of the pool %s\n' "$said" "$way"
    [[ "$said" == "  $REQUESTS × 200" ]] || die "$where, $way: $said"
    await "pool $way: ${urls[$way]#http://} has failed before its first token: ${words[$way]}" cat "${its_log[$where]}"
  done
  said="$(ask "${gateways[$where]}" alone)"
  printf 'without another server the client gets %s\n' "$said"
  sees '50'
  await "pool alone: ${urls[drains]#http://} has failed before its first token: the client got 50" cat "${its_log[$where]}"
  printf 'the log, the first line of each pool:\n'
  for way in "${ways[@]}" alone; do grep -m 1 -o "harmony: pool $way: .*" "${its_log[$where]}"; done
  status_address="${statuses[$where]}"
  failing() { "$HARMONY_BIN" status --address "$status_address" | grep -c 'WARNING: .* failed before the first token'; }
  await 5 failing
  status 1
  if [[ "$where" != fleet ]]; then
    said="$(curl --silent --show-error "http://$status_address/stats/prometheus?filter=harmony_failed_attempts_total")"
    printf 'the metric, and the alert HarmonyServerFailsEarly:\n%s\n' "$said"
    for way in "${ways[@]}"; do sees "harmony_failed_attempts_total{pool=\"$way\"}"; done
  fi
done
end envoy
end wazero
end_fleet failing
for name in well "${ways[@]}"; do end "$name"; done

heading 'One of two servers has a smaller context'
sim large 127.0.0.1:0 gpt-oss-120b
large="$url"
sim small 127.0.0.1:0 gpt-oss-120b --max-model-len 4096
small="$url"
context_config() {
  cat >"$logs/context.new" <<END
listen: 127.0.0.1:0
models: [{ name: gpt-oss-120b, pool: h200$1 }]
pools:
  - name: h200
    servers: [$large, $small]
END
  mv "$logs/context.new" "$logs/context.yaml"
}
context_config ''
fleet context
await 'gpt-oss-120b has a context of 4096 tokens' "$HARMONY_BIN" status --address "$status_address"
current() { "$HARMONY_BIN" status --address "$status_address" | grep -c ' current$'; }
await 1 current
status 0
said="$(ask_often "$gateway")"
printf '%s requests without max_tokens:\n%s\n' "$REQUESTS" "$said"
sees "$REQUESTS × 200"
context_config ', context_length: 131072'
await 'WARNING: context_length of gpt-oss-120b is 131072' "$HARMONY_BIN" status --address "$status_address"
status 1
sees "$small has a context of 4096 tokens"
await '400' ask "$gateway"
printf 'with context_length: 131072 a client gets %s\n' "$said"
end_fleet context
end large
end small

for host in envoy wazero; do
  heading "One of two servers wants a key, --host $host: nobody has said so"
  sim open 127.0.0.1:0 gpt-oss-120b
  open="$url"
  sim closed 127.0.0.1:0 gpt-oss-120b --api-key key
  up=("$HARMONY_BIN" up --host "$host" --wasm "$HARMONY_WASM" --listen 127.0.0.1:0
    --model gpt-oss-120b --backend "vllm=$url")
  if [[ "$host" == envoy ]]; then up+=(--admin 127.0.0.1:0); fi
  start up "${up[@]}" --backend "vllm=$open"
  await 'a server refuses its pool' cat "$logs/up.err"
  await 'listening on http://' cat "$logs/up.out"
  gateway="http://${said#*listening on http://}"
  gateway="${gateway%%$'\n'*}"
  printf '$ harmony up --host %s --backend vllm=%s --backend vllm=%s\n%s\n' "$host" "$open" "$url" \
    "$(grep -o 'it wants a key[^"]*' "$logs/up.err" | head -n 1)"
  await 200 ask "$gateway"
  said="$(ask_often "$gateway")"
  printf '%s requests:\n%s\n' "$REQUESTS" "$said"
  sees "$REQUESTS × 200"
  end open
  end up
  start up "${up[@]}"
  await 'a server refuses its pool' cat "$logs/up.err"
  await 'listening on http://' cat "$logs/up.out"
  gateway="http://${said#*listening on http://}"
  gateway="${gateway%%$'\n'*}"
  await '"code":"server_refused_credentials"' ask "$gateway"
  printf 'with that server alone the client gets %s\n' "$said"
  sees '502'
  end up
  end closed
done

heading 'Two gateways with a store each run side by side; one is killed, and the next start removes what it left'
mkdir "$logs/tmp"
sim stored 127.0.0.1:0 gpt-oss-120b
{ echo clients: && "$HARMONY_BIN" keys new acme; } >"$logs/keys.yaml" 2>"$logs/key"
key="$(grep -o 'sk-[A-Za-z0-9_-]*' "$logs/key" | head -n 1)"
[[ -n "$key" ]] || die "harmony keys new prints no key: $(cat "$logs/key")"
cat >"$logs/stored.yaml" <<END
clients: { keys_file: $logs/keys.yaml, required: true }
models: [{ name: gpt-oss-120b, servers: ['vllm=$url'] }]
END
# gateway NAME: a gateway with a store of its own; its URL is in $gateway, and its page in $status_address.
gateway() {
  start "$1" env TMPDIR="$logs/tmp" "$HARMONY_BIN" up --wasm "$HARMONY_WASM" --listen 127.0.0.1:0 \
    --config "$logs/stored.yaml" \
    --store "$logs/$1.db"
  await 'try:' cat "$logs/$1.out"
  gateway="http://$(sed -n 's#^listening on http://##p' "$logs/$1.out")"
  status_address="$(sed -n 's#^page.*: http://##p' "$logs/$1.out")"
}
gateway first
gateway second
await ' ready ' "$HARMONY_BIN" status --address "$status_address"
status 0
end second KILL
printf 'after kill -9 are left: %s folders\n' "$(find "$logs/tmp" -mindepth 1 -maxdepth 1 | wc -l)"
gateway second
printf 'after the next start there are %s, of two gateways\n' "$(find "$logs/tmp" -mindepth 1 -maxdepth 1 | wc -l)"
(($(find "$logs/tmp" -mindepth 1 -maxdepth 1 | wc -l) == 4)) || die "folders are left: $(ls "$logs/tmp")"

heading 'A client by key wants its data, and wants it gone'
await '"status":"completed"' curl --silent --max-time "$PATIENCE" "$gateway/v1/responses" --header "authorization: Bearer $key" \
  --header 'content-type: application/json' --data '{"model":"gpt-oss-120b","input":"Say hello."}'
# stored WANTED COMMAND...: harmony responses COMMAND, whose exit status must be the one wanted.
stored() {
  local code=0
  said="$("$HARMONY_BIN" responses "${@:2}" --store "$logs/second.db" 2>&1)" || code=$?
  printf '$ harmony responses %s\n%s\n(exit status %s)\n' "${*:2}" "$(cut -c -160 <<<"$said")" "$code"
  ((code == $1)) || die "the exit status is $code, not $1"
}
stored 1 delete --tenant acme
sees 'clients with keys need --client NAME'
stored 0 export --client acme
sees '"response"'
stored 0 delete --client acme
sees 'removed 1 response'
stored 1 delete --client acme
sees 'nothing is stored of the client "acme"'
end second
end first
end stored

heading 'The rate limit service dies, and a certificate expires in ten days'
sim limited 127.0.0.1:0 gpt-oss-120b
limited="$url"
printf 'clients:\n  - name: a\n    limits: { concurrency: 8 }\n' >"$logs/clients.yaml"
chmod 600 "$logs/clients.yaml"
start limits "$HARMONY_BIN" limits --keys "$logs/clients.yaml" --listen 127.0.0.1:0 --status 127.0.0.1:0
await 'serving Envoys on ' cat "$logs/limits.out"
limits_address="$(sed -n 's/^serving Envoys on //p' "$logs/limits.out")"
openssl req -x509 -newkey rsa:2048 -nodes -days 10 -subj /CN=authority \
  -keyout "$logs/ca-key.pem" -out "$logs/ca.pem" 2>/dev/null
cat >"$logs/limited.yaml" <<END
listen: 127.0.0.1:0
ca_file: ca.pem
clients: { header: x-client, keys_file: clients.yaml }
limits: { url: 'http://$limits_address', on_failure: refuse }
models: [{ name: gpt-oss-120b, pool: h200 }]
pools: [{ name: h200, servers: ['$limited'] }]
END
fleet limited
ask_as() { curl --silent --max-time "$PATIENCE" "$gateway/v1/chat/completions" --header 'x-client: a' \
  --header 'content-type: application/json' \
  --data '{"model":"gpt-oss-120b","messages":[{"role":"user","content":"Say hello."}]}'; }
await '"finish_reason"' ask_as
status 1
sees "the certificate in $logs/ca.pem expires on"
end limits
await 'does not work: connection refused' "$HARMONY_BIN" status --address "$status_address"
sees 'DOES NOT WORK'
status 1
sees 'the service of rate limits at http'
said="$(ask_as)"
printf 'the client gets %s\n' "$said"
sees 'The rate limit service does not answer'
said="$(series service_up)"
printf 'the metric, and the alert HarmonyServiceDown:\n%s\n' "$said"
sees '} 0'
end_fleet limited
end limited
