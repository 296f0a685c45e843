#!/usr/bin/env bash
# Fuzzes every fuzz target of the module, one after another: tools/fuzz.sh TIME-FOR-EACH [TARGETS, as a pattern of their names]
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

targets=$(git grep -E '^func Fuzz' -- '*_test.go' | sed -nE 's|^(.*)/[^/]*_test\.go:func (Fuzz[A-Za-z0-9]*)\(.*|./\1 \2|p' | grep -E -- "${2:-.}") ||
	die "no fuzz target has a name like ${2:-.}"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT

# fuzz PACKAGE TARGET TIME: fuzzes one target.
#
# Go before 1.27 now and then fails a target whose time is over with "context deadline exceeded" and nothing else
# (go.dev/issue/75804): the coordinator wakes between the end of its own context and of its workers'. The target has been
# fuzzed for its whole time then, and nothing was found. What is found has a message and an input of its own.
fuzz() {
	go test -run '^$' -fuzz "^$2\$" -fuzztime "$3" "$1" 2>&1 | tee "$log" && return 0
	if [[ "$(grep -A 1 -E '^--- FAIL' "$log")" =~ ^"--- FAIL: $2 ("[0-9.]+"s)"$'\n'"    context deadline exceeded"$ ]] &&
		! grep -qE 'Failing input written|panic|fatal error' "$log"; then
		say "    passed: its time was over (go.dev/issue/75804)"
		return 0
	fi
	return 1
}

failed=()
while read -r package target; do
	echo "==> ${target} of ${package}"
	# A target that fails has written its input to testdata/fuzz; the others are fuzzed all the same.
	fuzz "${package}" "${target}" "$1" </dev/null || failed+=("${package} ${target}")
done <<<"$targets"

((${#failed[@]} == 0)) || die "found something; the inputs lie in testdata/fuzz, and stay: ${failed[*]}"
