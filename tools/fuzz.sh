#!/usr/bin/env bash
# Fuzzes every fuzz target of the module, one after another: tools/fuzz.sh TIME-FOR-EACH [TARGETS, as a pattern of their names]
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

targets=$(git grep -E '^func Fuzz' -- '*_test.go' | sed -nE 's|^(.*)/[^/]*_test\.go:func (Fuzz[A-Za-z0-9]*)\(.*|./\1 \2|p' | grep -E -- "${2:-.}") ||
	die "no fuzz target has a name like ${2:-.}"
failed=()
while read -r package target; do
	echo "==> ${target} of ${package}"
	# A target that fails has written its input to testdata/fuzz; the others are fuzzed all the same.
	go test -run '^$' -fuzz "^${target}\$" -fuzztime "$1" "${package}" || failed+=("${package} ${target}")
done <<<"$targets"

((${#failed[@]} == 0)) || die "found something; the inputs lie in testdata/fuzz, and stay: ${failed[*]}"
