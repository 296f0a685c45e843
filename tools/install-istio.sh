#!/usr/bin/env bash
# Istio's control plane for tests at .tools/bin/istio-server, built from the Go module tools/istio.
# JOBS is the number of compilers that run at once: 2 unless set.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

source="$ROOT/tools/istio"
name="istio-$(fingerprint "$source"/{go.mod,go.sum,main.go})"
if stamped "$name" && [[ -x "$BIN/istio-server" ]]; then
  exit 0
fi
build() { (cd "$source" && GOFLAGS="-p=${JOBS:-2}" nice go build -trimpath -ldflags="-s -w" -o "$BIN/istio-server" .); }
step "istio-server (from $(sed -n 's/^require //p' "$source/go.mod" | head -n 1); 8 to 15 minutes)" build
stamp istio "$name"
