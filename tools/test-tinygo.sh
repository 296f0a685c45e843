#!/usr/bin/env bash
# Runs the tests of harmonycore as WebAssembly: the compiler and collector that ship, not Go's. Fuzz targets are Go's only.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

packages=("$@")
if ((${#packages[@]} == 0)); then
  listed="$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./harmonycore/...)"
  while IFS= read -r package; do packages+=("$package"); done < <(sed '/^$/d' <<<"$listed")
fi
((${#packages[@]} > 0)) || die "harmonycore has no tests"

# One at a time: TinyGo stops at the first package that does not compile, and here each one's fate matters.
failed=()
for package in "${packages[@]}"; do
  if ! step "tinygo test ${package#github.com/harmonyedge/harmonyedge/}" \
    "$BIN/tinygo" test -short -opt=z -target="$TOOLS/tinygo/test.json" "$package"; then
    failed+=("$package")
  fi
done
if ((${#failed[@]} > 0)); then
  say "failed under TinyGo:"
  printf '    %s\n' "${failed[@]}" >&2
  exit 1
fi
