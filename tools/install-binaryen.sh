#!/usr/bin/env bash
# wasm-opt, from the npm package that tools/binaryen/package-lock.json pins.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

name="binaryen-$(fingerprint "$ROOT"/tools/binaryen/package*.json "${BASH_SOURCE[0]}")"
stamped "$name" && exit 0

command -v npm >/dev/null || die "npm (Node.js 20 or newer) is needed for Binaryen's wasm-opt; install Node.js and try again"

rm -rf "$TOOLS/binaryen"
mkdir -p "$TOOLS/binaryen"
cp "$ROOT"/tools/binaryen/package*.json "$TOOLS/binaryen/"
step "Binaryen (npm)" npm --prefix "$TOOLS/binaryen" ci --ignore-scripts --no-audit --no-fund
ln -sfn ../binaryen/node_modules/.bin/wasm-opt "$BIN/wasm-opt"
"$BIN/wasm-opt" --version >/dev/null || die "wasm-opt does not run"
stamp binaryen "$name"
