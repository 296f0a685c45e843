#!/usr/bin/env bash
# pin-python.sh [NAME...]: writes tools/python/NAME.txt anew, with the hash of every file that PyPI has of each version, for all
# kinds of machines; without names, all of them. To change a version, change it in the file, with its hashes or without, and run this.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

"$ROOT/tools/install-python.sh" pin

pin() {
  local file="tools/python/$1.txt" work
  [[ -f "$file" ]] || die "no file $file"
  work="$(mktemp -d)"
  # The versions alone: hashes that are there already would be taken over, also where a version has changed.
  sed -nE 's/^([A-Za-z0-9._-]+==[^ ;\\]+).*/\1/p' "$file" >"$work/in.txt"
  # step takes away set -e: what fails returns by itself, before the file is replaced.
  "$TOOLS/venv/pin/bin/python" -m piptools compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-header \
    --no-annotate --no-emit-options --no-emit-index-url --no-emit-trusted-host \
    --output-file "$work/out.txt" "$work/in.txt" || return
  # The file's own words, without pip-compile's remarks.
  { sed -n '/^#/!q;p' "$file"; grep -E '^[^#]' "$work/out.txt"; } >"$work/new.txt" || return
  mv "$work/new.txt" "$file"
  rm -r "$work"
}

if (($# == 0)); then
  for file in tools/python/*.txt; do
    name="$(basename "$file" .txt)"
    step "the hashes of $name" pin "$name"
  done
  exit 0
fi
for name in "$@"; do
  step "the hashes of $name" pin "$name"
done
