#!/usr/bin/env bash
# PostgreSQL for tests at .tools/postgres, a link to the folder of its programs: the one of POSTGRES_BIN, one that is
# installed, or Debian's.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

found() {
  local folder
  for folder in "${POSTGRES_BIN:-}" $(command -v initdb >/dev/null && dirname "$(readlink -f "$(command -v initdb)")") \
    /usr/lib/postgresql/*/bin; do
    if [[ -x "$folder/postgres" && -x "$folder/initdb" ]]; then
      printf '%s\n' "$folder"
      return 0
    fi
  done
  return 1
}

if ! folder="$(found)"; then
  need_packages "PostgreSQL (for tests of the responses service)" \
    "Or set POSTGRES_BIN to the folder of its programs postgres and initdb." postgresql
  folder="$(found)" || die "the package postgresql is installed, and its programs were not found"
fi
ln -sfn "$folder" "$TOOLS/postgres"
