#!/usr/bin/env bash
# golangci-lint, built from its Go module (tools/lint/go.mod), and shellcheck.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if ! foreign shellcheck >/dev/null; then
  need_packages "Checking shell scripts" "On macOS: brew install shellcheck" shellcheck
fi

name="lint-$(fingerprint "$ROOT"/tools/lint/go.* "${BASH_SOURCE[0]}")-$(go env GOVERSION)"
stamped "$name" && exit 0

compile() { (cd "$ROOT/tools/lint" && go build -trimpath -o "$BIN/golangci-lint" github.com/golangci/golangci-lint/v2/cmd/golangci-lint); }
step "golangci-lint (about two minutes)" compile
stamp lint "$name"
