#!/usr/bin/env bash
# The behaviour suite with two versions at once, on Envoy: the filter of an older commit (the last one before this, or
# $BASE) under this checkout's control plane, then this checkout's filter under the older control plane. What must be
# seen is what the cases of the filter's commit say.
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
title="$(git -C "$clone" log -1 --format='%h %s')"
say "the filter of $title"
GOCACHE="$(go env GOCACHE)" "$clone/tools/build-filter.sh"

# The older control plane cannot read settings that it does not have. So it gets the cases that it knows, as they are
# now, unless their settings have changed.
settings() { awk '/^-- /{on = ($2 == "settings")} on' "$1"; }
cases="$scratch/cases"
mkdir "$cases"
left_out=()
for now in e2e/cases/*.txtar; do
  then="$clone/$now"
  if [[ -f "$then" && "$(settings "$now")" == "$(settings "$then")" ]]; then
    cp "$now" "$cases/"
  else
    left_out+=("$(basename "$now" .txtar)")
  fi
done

result=0
say "this control plane, the filter of $title"
HARMONY_WASM="$clone/dist/harmony-filter.wasm" HARMONY_CASES="$clone/e2e/cases" \
  go test -count=1 -timeout 15m -tags e2e,skew -run '^TestSkew$' ./e2e/suite || result=1
say "the control plane of $title, this filter: $(find "$cases" -type f | wc -l) cases, ${#left_out[@]} left out" \
  "because they are new or have other settings${left_out[*]:+: ${left_out[*]}}"
HARMONY_CASES="$cases" go -C "$clone" test -count=1 -timeout 15m -tags e2e,skew -run '^TestSkew$' ./e2e/suite || result=1
exit "$result"
