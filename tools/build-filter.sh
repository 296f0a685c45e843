#!/usr/bin/env bash
# Builds dist/harmony-filter.wasm: the filter by TinyGo, with the vocabulary's table among its constants.
# Two checkouts of the same commit give the same bytes, wherever they lie.
#
# FILTER_MODULE is the folder of another Go module, whose package ./filter is built (docs/structure.md).
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

module="$(cd "${FILTER_MODULE:-.}" && pwd)"
package="${FILTER_PACKAGE:-./filter}"
out="${FILTER_OUT:-dist/harmony-filter.wasm}"

# What TinyGo emits; Binaryen reads and writes no more than this.
features=(--mvp-features --enable-mutable-globals --enable-bulk-memory --enable-nontrapping-float-to-int --enable-sign-ext)

# What harmony_build_info tells: the same version that the program has.
version="$(go run ./tools/version)"

# The memory begins with 10 MiB, of which the table takes a third, and grows when it is full. What wasm-ld would choose,
# the table alone, would have to grow at once.
linker="-extldflags '--initial-memory=10485760'"
tags=""
stamp=()
# The linker refuses to set what a program does not have, and of those built here only the filter tells its version. Only
# the filter collects by itself (RATIONALE.md#110). A stock TinyGo knows no such tag, and its filter is slower.
if [[ "$package" == ./filter ]]; then
  linker+=" -X main.version=$version"
  tags=explicitgc
  stamp=(-version "$version")
fi

# A folder of its own: two builds at once must not take each other's parts.
mkdir -p build "$(dirname "$out")"
work="$(mktemp -d build/filter.XXXXXX)"
trap 'rm -rf "$work"' EXIT

# Binaryen of the pinned version also for TinyGo's own run of wasm-opt: the bytes must not depend on what is on PATH.
# A trap takes less code than the text of a panic; Envoy logs the names of the functions with both (RATIONALE.md#108).
compile() {
  (cd "$module" && WASMOPT="$BIN/wasm-opt" "$BIN/tinygo" build -target="$TOOLS/tinygo/filter.json" -opt=2 -no-debug \
    -panic=trap -tags "$tags" -ldflags "$linker" -o "$ROOT/$work/filter.wasm" "$package")
}

finish() {
  go run ./tools/wasmfinish -i "$work/filter.wasm" -o "$work/finished.wasm"
  "$BIN/wasm-opt" "${features[@]}" -g -O3 "$work/finished.wasm" -o "$work/needed.wasm"
  go run ./tools/wasmfinish -ship ${stamp[@]+"${stamp[@]}"} -i "$work/needed.wasm" -o "$work/shipped.wasm"
}

step "the vocabulary's table" go run ./tools/vocabtable -o filter/vocabulary/o200k.table
step "the filter (TinyGo, about a minute)" compile
step "what does not ship is removed (Binaryen)" finish
mv "$work/shipped.wasm" "$out"

digest() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}
say "    $out: $(wc -c <"$out" | tr -d ' ') bytes, sha256 $(digest "$out")"
