#!/usr/bin/env bash
# Redis for tests at .tools/redis, a folder with its server: the one of REDIS_SERVER, one that is installed, or Debian's.
# Debian's package of the server would start one. The package of the tools has the same program, by another name.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

found() {
  local program
  for program in "${REDIS_SERVER:-}" "$(command -v redis-server || true)" "$(command -v redis-check-rdb || true)"; do
    if [[ -x "$program" ]]; then
      readlink -f "$program"
      return 0
    fi
  done
  return 1
}

if ! program="$(found)"; then
  need_packages "Redis (for tests of the rate limit service)" "Or set REDIS_SERVER to the program redis-server." redis-tools
  program="$(found)" || die "the package redis-tools is installed, and its program redis-check-rdb was not found"
fi
mkdir -p "$TOOLS/redis"
ln -sfn "$program" "$TOOLS/redis/redis-server" # the program asks for its name
"$TOOLS/redis/redis-server" --version >/dev/null || die "$program does not run"
