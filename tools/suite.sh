#!/usr/bin/env bash
# Runs the behaviour suite and prints its table: the SHA-256 of what the client saw and of the ids that the server got, for
# each case, mode and host. The hashes are shortened here; $HARMONY_SUITE, a file, has them whole.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

rm -f "$HARMONY_SUITE"
result=0
go test -count=1 -tags e2e -run '^TestSuite' ./e2e/suite || result=$?
[[ -s "$HARMONY_SUITE" ]] || exit "${result/#0/1}"

awk -F '\t' '
  function short(hash) { return substr(hash, 1, 12) }
  NR == 1 {
    format = "%-38s %-8s %-6s %-13s %-12s %-12s %-12s  %-12s %-12s %-12s\n"
    printf format, "case", "mode", "equal", "lacks", "native", "wazero", "envoy", "ids: native", "wazero", "envoy"
    next
  }
  {
    printf format, $1, $2, $3, $4, short($5), short($6), short($7), short($8), short($9), short($10)
    for (i = 1; i <= 10; i++) if ($i == "") empty++
    if ($3 != "yes") unequal++
    if ($4 != "-") lacking[$4]++
  }
  END {
    printf "\n%d rows, %d unequal, %d with an empty field\n", NR - 1, unequal, empty
    for (name in lacking) printf "%d rows differ from full mode for lack of %s, alike on every host\n", lacking[name], name
    if (unequal || empty || NR < 2) exit 1
  }' "$HARMONY_SUITE" || result=1
exit "$result"
