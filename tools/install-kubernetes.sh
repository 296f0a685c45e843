#!/usr/bin/env bash
# Kubernetes' API server with etcd for tests at .tools/bin/kubernetes-server, built from the Go module tools/kubernetes.
# JOBS is the number of compilers that run at once: 2 unless set.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

source="$ROOT/tools/kubernetes"
name="kubernetes-$(fingerprint "$source"/{go.mod,go.sum,main.go})"
if stamped "$name" && [[ -x "$BIN/kubernetes-server" ]]; then
  exit 0
fi
build() { (cd "$source" && GOFLAGS="-p=${JOBS:-2}" nice go build -trimpath -ldflags="-s -w" -o "$BIN/kubernetes-server" .); }
step "kubernetes-server (from k8s.io/kubernetes $(sed -n 's#^\tk8s.io/kubernetes ##p' "$source/go.mod"); 10 to 17 minutes)" build
stamp kubernetes "$name"
