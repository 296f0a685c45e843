#!/usr/bin/env bash
# What checks the Helm chart and the objects for meshes: .tools/bin/chartcheck, built from the Go module tools/chart,
# and the schemas of custom resources in .tools/chart, out of the Go modules of those who define them.
# JOBS is the number of compilers that run at once: 2 unless set.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

prometheus=github.com/prometheus-operator/prometheus-operator@v0.85.0
certificates=github.com/cert-manager/cert-manager@v1.21.2
gateway="github.com/envoyproxy/gateway@$(sed -n 's/^version=//p' "$ROOT/tools/install-envoy-gateway.sh")"
istio="$(sed -n 's/^require \(\S*\) /\1@/p' "$ROOT/tools/istio/go.mod" | head -n 1)"

source="$ROOT/tools/chart"
name="chart-$(fingerprint "$source"/{go.mod,go.sum,*.go} "$ROOT"/tools/{install-chart,install-envoy-gateway}.sh \
  "$ROOT/tools/istio/go.mod")"
if stamped "$name" && [[ -x "$BIN/chartcheck" && -d "$TOOLS/chart" ]]; then
  exit 0
fi
build() { (cd "$source" && GOFLAGS="-p=${JOBS:-2}" nice go build -trimpath -ldflags="-s -w" -o "$BIN/chartcheck" .); }
step "chartcheck (from $(sed -n 's/^\thelm.sh/helm.sh/p' "$source/go.mod"); 3 to 8 minutes)" build

# schemas NAME MODULE FILES: copies a module's CustomResourceDefinitions.
schemas() {
  local folder
  folder="$(cd "$new" && go mod download -json "$2" | sed -n 's/^\t"Dir": "\(.*\)".*/\1/p')"
  mkdir "$new/$1"
  # shellcheck disable=SC2086 # FILES is a pattern
  cp "$folder"/$3 "$new/$1"
}
load() {
  new="$(mktemp -d "$TOOLS/chart.XXXXXX")"
  schemas istio "$istio" manifests/charts/base/files/crd-all.gen.yaml
  schemas gateway-api "$gateway" charts/gateway-helm/charts/crds/crds/gatewayapi-crds.yaml
  schemas envoy-gateway "$gateway" 'charts/gateway-helm/charts/crds/crds/generated/*.yaml'
  schemas prometheus "$prometheus" 'example/prometheus-operator-crd/*monitors.yaml'
  schemas cert-manager "$certificates" deploy/crds/cert-manager.io_certificates.yaml
  chmod -R u+w,a+rX "$new"
  rm -rf "$TOOLS/chart"
  mv "$new" "$TOOLS/chart"
}
step "the schemas of Istio's, Envoy Gateway's, the Gateway API's, Prometheus' and cert-manager's resources" load
stamp chart "$name"
