#!/usr/bin/env bash
# Envoy Gateway at .tools/bin/envoy-gateway and its egctl at .tools/bin/egctl, of the version below, built from its Go
# module.
# JOBS is the number of compilers that run at once: 2 unless set.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

version=v1.9.1
name="envoy-gateway-$version"
if stamped "$name" && [[ -x "$BIN/envoy-gateway" && -x "$BIN/egctl" ]]; then
  exit 0
fi
build() {
  GOBIN="$BIN" CGO_ENABLED=0 GOFLAGS="-p=${JOBS:-2} -trimpath" \
    nice go install -ldflags="-s -w" "github.com/envoyproxy/gateway/cmd/"{envoy-gateway,egctl}"@$version"
}
step "Envoy Gateway $version (312 MB to load; 15 to 20 minutes)" build
stamp envoy-gateway "$name"
