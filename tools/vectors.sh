#!/usr/bin/env bash
# vectors.sh COMMAND...: runs COMMAND with the environment that asking the reference needs: its Python, and the vocabulary
# that it reads, which comes with a Go module. Without a COMMAND it writes all vectors again.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

VOCABULARY=github.com/pkoukk/tiktoken-go-loader@v0.0.2
folder="$(go mod download -json "$VOCABULARY" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",\{0,1\}$/\1/p')"
[[ -f "$folder/assets/o200k_base.tiktoken" ]] || die "$VOCABULARY has no o200k_base.tiktoken"
export TIKTOKEN_ENCODINGS_BASE="$folder/assets"
export HARMONY_ORACLE_PYTHON="${HARMONY_ORACLE_PYTHON:-$TOOLS/venv/oracle/bin/python}"
export PYTHONDONTWRITEBYTECODE=1
[[ -x "$HARMONY_ORACLE_PYTHON" ]] || die "no Python at $HARMONY_ORACLE_PYTHON: make tool-python"

if (($# > 0)); then
  exec "$@"
fi
step "vectors of the tokenizer" "$HARMONY_ORACLE_PYTHON" tools/vocab/vectors.py harmonycore/tokenizer/testdata
step "vectors of the renderer and the parser" "$HARMONY_ORACLE_PYTHON" tools/harmonyvectors/generate.py
step "the built-in tools' descriptions" "$HARMONY_ORACLE_PYTHON" tools/harmonyvectors/builtin.py
