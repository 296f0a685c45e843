#!/usr/bin/env bash
# The behaviour suite with the filter of an older commit (the last one before this, or $BASE) on Envoy, which this
# checkout's control plane programs. What must be seen is what that commit's cases say.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

base="$(git rev-parse --verify --quiet "${BASE:-HEAD~1}^{commit}")" || die "there is no commit ${BASE:-HEAD~1} here; a shallow clone has none"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
clone="$scratch/base"

git clone --quiet --no-hardlinks --no-checkout "$ROOT" "$clone"
git -C "$clone" -c advice.detachedHead=false checkout --quiet "$base"
ln -s "$TOOLS" "$clone/.tools" # the same compiler: what differs is what was written
say "the filter of $(git -C "$clone" log -1 --format='%h %s')"
GOCACHE="$(go env GOCACHE)" "$clone/tools/build-filter.sh"

HARMONY_WASM="$clone/dist/harmony-filter.wasm" HARMONY_CASES="$clone/e2e/cases" \
  go test -count=1 -timeout 15m -tags e2e,skew -run '^TestSkew$' ./e2e/suite
