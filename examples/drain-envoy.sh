#!/usr/bin/env bash
# Ends an Envoy's work without cutting a stream: drain-envoy.sh [ADMIN-PORT [SECONDS [STAY]]]. To be run before Envoy gets its
# SIGTERM, which cuts everything: as a preStop hook, or ExecStop. It wants bash and grep, which Envoy's own images have.
#
# It returns when no request runs any more, or after so many seconds (300), and leaves Envoy running. STAY is how many seconds
# Envoy goes on to take new clients (5): load balancers take a while to see that it is not ready.
set -euo pipefail
port="${1:-9901}" seconds="${2:-300}" stay="${3:-5}"

# admin METHOD PATH: asks Envoy's admin interface, and prints what it answers.
admin() {
  exec 3<>"/dev/tcp/127.0.0.1/$port"
  printf '%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n' "$1" "$2" >&3
  cat <&3
  exec 3>&-
}

# change PATH: asks it to do something, and ends this script if it refuses.
change() {
  grep -q '^HTTP/1.1 200' <<<"$(admin POST "$1")" && return
  echo "drain-envoy.sh: what listens at port $port is no admin interface of an Envoy, or refuses POST $1" >&2
  exit 1
}

change /healthcheck/fail # /ready answers 503, and connections are closed behind their next response
sleep "$stay"
change /drain_listeners # new connections are refused; those that are there go on
end=$((SECONDS + seconds))
while ((SECONDS < end)); do
  # One request is this one; what has not been written to a client yet counts too.
  running="$(admin GET '/stats?filter=^http%5C..*%5C.downstream_(rq_active|cx_tx_bytes_buffered)$')"
  grep -v '^http\.admin\.' <<<"$running" | grep -qE '^http\..*: [1-9]' || exit 0
  sleep 1
done
echo "drain-envoy.sh: requests still run after $seconds s" >&2
exit 1
