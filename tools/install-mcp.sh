#!/usr/bin/env bash
# MCP's own server of examples and its conformance tests, which tools/mcp/package-lock.json pins, at .tools/mcp. They run
# on the Node.js of .tools/clients.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v npm >/dev/null || die "npm (Node.js 20 or newer) is needed for MCP's servers; install Node.js and try again"
name="mcp-$(fingerprint "$ROOT"/tools/mcp/package*.json "${BASH_SOURCE[0]}")"
stamped "$name" && exit 0

folder="$TOOLS/mcp"
rm -rf "$folder"
mkdir -p "$folder"
cp "$ROOT"/tools/mcp/package*.json "$folder/"
step "MCP's servers (npm)" npm --prefix "$folder" ci --ignore-scripts --no-audit --no-fund
stamp mcp "$name"
