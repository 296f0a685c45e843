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
# The programs of Codex and of Node.js are optional packages, one for each kind of machine.
step "JavaScript clients and Codex (npm)" npm --prefix "$folder" ci --ignore-scripts --no-audit --no-fund
node="$(command -v node)"
if ! at_least "$minimum" "${given#v}"; then
  node="$(find "$folder/node_modules" -path '*/node-*/bin/node' -type f | head -n 1)"
  [[ -n "$node" ]] || die "the clients need Node.js $minimum or newer, and npm has none for this machine; install it and try again"
fi
ln -s "$node" "$folder/node"
"$folder/node" --version >/dev/null || die "$folder/node does not run"
stamp clients "$name"
