#!/usr/bin/env bash
# The clients that tools/clients/package-lock.json pins, at .tools/clients with the Node.js that they need as its "node":
# the one on PATH when it is new enough, else a pinned one from npm.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

minimum=22.12.0

command -v npm >/dev/null || die "npm (Node.js 20 or newer) is needed for the JavaScript clients; install Node.js and try again"
given="$(node --version)"
name="clients-$(fingerprint "$ROOT"/tools/clients/package*.json "${BASH_SOURCE[0]}" <(printf '%s' "$given"))"
stamped "$name" && exit 0

folder="$TOOLS/clients"
rm -rf "$folder"
mkdir -p "$folder"
cp "$ROOT"/tools/clients/package*.json "$folder/"
install() { npm --prefix "$folder" ci --ignore-scripts --no-audit --no-fund "$@"; }
if at_least "$minimum" "${given#v}"; then
  step "JavaScript clients (npm)" install --omit=optional
  ln -s "$(command -v node)" "$folder/node"
else
  step "JavaScript clients and a newer Node.js than $given (npm)" install
  node="$(find "$folder/node_modules" -path '*/node-*/bin/node' -type f | head -n 1)"
  [[ -n "$node" ]] || die "the clients need Node.js $minimum or newer, and npm has none for this machine; install it and try again"
  ln -s "$node" "$folder/node"
fi
"$folder/node" --version >/dev/null || die "$folder/node does not run"
stamp clients "$name"
