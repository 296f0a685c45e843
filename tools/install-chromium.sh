#!/usr/bin/env bash
# Chromium for tests of the page at .tools/chromium, a link: the one of CHROMIUM, one that is installed, or Debian's. The
# fonts are the screenshots', so that these look alike on every machine.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

found() {
  local program
  for program in "${CHROMIUM:-}" "$(foreign chromium)" "$(foreign chromium-headless-shell)" "$(foreign google-chrome)"; do
    if [[ -n "$program" && -x "$program" ]]; then
      printf '%s\n' "$program"
      return 0
    fi
  done
  return 1
}

if ! program="$(found)"; then
  need_packages "Chromium (for tests of the page)" "Or set CHROMIUM to a program of Chromium 120 or newer." \
    chromium fonts-inter fonts-jetbrains-mono
  program="$(found)" || die "the package chromium is installed, and its program was not found"
fi
ln -sfn "$program" "$TOOLS/chromium"
