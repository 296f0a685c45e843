#!/usr/bin/env bash
# Builds the filter from two clones of the current commit, in folders of different depth, and compares the bytes.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
commit="$(git -C "$ROOT" rev-parse HEAD)" # once: HEAD may move while the first clone is built

if [[ -n "$(git -C "$ROOT" status --porcelain --untracked-files=no)" ]]; then
  say "note: this compares the commit, without the changes of the working tree"
fi
for clone in "$scratch/a" "$scratch/second/much/deeper"; do
  mkdir -p "$(dirname "$clone")"
  git clone --quiet --no-hardlinks --no-checkout "$ROOT" "$clone"
  git -C "$clone" -c advice.detachedHead=false checkout --quiet "$commit"
  # The same tools; TinyGo keeps its own cache, which the second build must not profit from.
  ln -s "$TOOLS" "$clone/.tools"
  XDG_CACHE_HOME="$clone/.cache" GOCACHE="$(go env GOCACHE)" "$clone/tools/build-filter.sh"
done
cmp "$scratch/a/dist/harmony-filter.wasm" "$scratch/second/much/deeper/dist/harmony-filter.wasm"
say "both builds gave the same bytes"
