#!/usr/bin/env bash
# The Inference Extension's endpoint picker with our scorer at .tools/bin/epp, built from the Go module
# examples/inference-extension.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

source="$ROOT/examples/inference-extension"
name="inference-extension-$(fingerprint "$source"/{go.mod,go.sum,main.go,blocks/scorer.go})-$(go env GOVERSION)"
if stamped "$name" && [[ -x "$BIN/epp" ]]; then
  exit 0
fi
build() { (cd "$source" && go build -trimpath -ldflags="-s -w" -o "$BIN/epp" .); }
step "the Inference Extension's picker (it compiles Kubernetes' client for minutes)" build
stamp inference-extension "$name"
