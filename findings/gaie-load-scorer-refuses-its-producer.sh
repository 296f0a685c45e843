#!/usr/bin/env bash
# The endpoint picker of the Inference Extension with the scorer of tokens in flight and the plugin that counts them.
#
# Software: sigs.k8s.io/gateway-api-inference-extension v1.5.0 (Go module), the newest release that has the picker. It
# is started with three configurations, and reads them before it asks its Kubernetes API, which is not there.
# A good guess: token-load-scorer and inflight-load-producer go together. The scorer's README names the attribute that
# it consumes, and no other plugin produces it.
# Seen: each of them loads without the other. Together they are refused: "data type mismatch between produced and
# consumed data for key: InFlightLoadKey". Both name the type by a pointer to a new value, and the picker compares the
# pointers.
# Consequence: nothing scores by what is in flight. Without the producer the scorer takes it for 0 everywhere.
set -euo pipefail

dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
cd "$dir"
go mod init finding >/dev/null 2>&1
go get sigs.k8s.io/gateway-api-inference-extension/cmd/epp@v1.5.0 >/dev/null 2>&1
echo "building the picker: it compiles Kubernetes' client for minutes"
go build -trimpath -o epp sigs.k8s.io/gateway-api-inference-extension/cmd/epp
cat >kubeconfig <<'YAML'
apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: "http://127.0.0.1:1" } }]
users: [{ name: u, user: {} }]
contexts: [{ name: x, context: { cluster: c, user: u } }]
current-context: x
YAML

# verdict PLUGIN...: loads a configuration with these plugins, and prints why it is refused, or that it is not.
verdict() {
  {
    printf 'apiVersion: inference.networking.x-k8s.io/v1alpha1\nkind: EndpointPickerConfig\nplugins:\n'
    printf -- '- { type: %s }\n' "$@" queue-scorer
    printf 'schedulingProfiles:\n- name: default\n  plugins:\n  - { pluginRef: queue-scorer }\n'
    case " $* " in *" token-load-scorer "*) printf '  - { pluginRef: token-load-scorer }\n' ;; esac
  } >config.yaml
  KUBECONFIG=kubeconfig timeout 60 ./epp --config-file config.yaml --pool-name p --pool-namespace n --tracing=false \
    >log 2>&1 || true
  if grep -q 'Failed to parse configuration' log; then
    grep -o 'data type mismatch[^"]*' log | head -n 1
  elif grep -q 'loaded configuration from file/text successfully' log; then
    echo loaded
  else
    cut -c1-300 log >&2
    echo unknown
  fi
}

scorer="$(verdict token-load-scorer)"
producer="$(verdict inflight-load-producer)"
both="$(verdict inflight-load-producer token-load-scorer)"
printf 'the scorer: %s\nthe producer: %s\nboth: %s\n' "$scorer" "$producer" "$both"
[[ "$scorer $producer" == "loaded loaded" &&
  "$both" == "data type mismatch between produced and consumed data for key: InFlightLoadKey" ]] ||
  { echo "this has changed" >&2; exit 1; }
