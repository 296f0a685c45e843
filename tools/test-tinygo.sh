#!/usr/bin/env bash
# Runs the tests of harmonycore, of what it imports of this module, and of the collector, all as WebAssembly: with the
# compiler and collector that ship, not Go's. Fuzz targets are Go's only.
#
#     tools/test-tinygo.sh [PACKAGE]...
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

# Behind what is on PATH: where Binaryen is not installed, ours is.
export PATH="$PATH:$BIN" WASMOPT="$ROOT/tools/test-wasm-opt.sh"

# TinyGo stops at the first package that does not compile, and each one's fate matters: so one in each call.
if (($# == 1)); then
  step "tinygo test ${1#github.com/harmonyedge/harmonyedge/}" \
    "$BIN/tinygo" test -short -opt=z -target="$TOOLS/tinygo/test.json" "$1"
  exit
fi

packages=("$@")
if ((${#packages[@]} == 0)); then
  tested='{{if and .Module .Module.Main (or .TestGoFiles .XTestGoFiles)}}{{.ImportPath}}{{end}}'
  listed="$(go list -deps -f "$tested" ./harmonycore/... ./filter/internal/gcroots)"
  # harmonytest is a tool of tests by reflection, which only Go's own tests need.
  while IFS= read -r package; do packages+=("$package"); done < <(sed '/^$/d; /harmonytest$/d' <<<"$listed")
fi
((${#packages[@]} > 0)) || die "harmonycore has no tests"

# Two at a time, each with up to 2 GB of memory. What one says comes at its end, so that it stands together.
failed="$(mktemp)"
trap 'rm -f "$failed"' EXIT
# shellcheck disable=SC2016 # the inner shell expands them
printf '%s\n' "${packages[@]}" | xargs -n 1 -P 2 bash -c '
  said="$("$0" "$2" 2>&1)" || echo "$2" >>"$1"
  printf "%s\n" "$said" >&2' "$ROOT/tools/test-tinygo.sh" "$failed"
if [[ -s "$failed" ]]; then
  say "failed under TinyGo:"
  sed 's/^/    /' "$failed" >&2
  exit 1
fi
