#!/usr/bin/env bash
# Checks what a release has besides the program with the programs that read it: man reads the manual pages without a
# warning, and systemd the units, which may do little. HARMONY_BIN is the program.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

for program in man systemd-analyze; do
  command -v "$program" >/dev/null || { echo "there is no $program: install man-db and systemd" >&2; exit 1; }
done

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

"${HARMONY_BIN:-dist/harmony}" man "$work/man1" >/dev/null
pages=0
for page in "$work"/man1/*.1; do
  said="$(MANWIDTH=100 man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null)"
  [[ -z "$said" ]] || { echo "$(basename "$page"): $said" >&2; exit 1; }
  pages=$((pages + 1))
done
echo "man: $pages pages without a warning"

# systemd looks for the programs of a unit, which are not here.
for unit in examples/systemd/*.service; do
  sed 's#/usr/local/bin/[a-z]*#/bin/true#' "$unit" >"$work/$(basename "$unit")"
done
systemd-analyze verify --man=no "$work"/*.service
for unit in "$work"/*.service; do
  systemd-analyze security --offline=true --threshold=20 "$unit" >"$work/security" || { cat "$work/security" >&2; exit 1; }
  echo "systemd: $(basename "$unit"): $(tail -n 1 "$work/security" | grep -oE '[0-9]+\.[0-9] [A-Z]+')"
done
