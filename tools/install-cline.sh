#!/usr/bin/env bash
# Cline's program, at .tools/cline/cline, by tools/cline/package-lock.json. It has a folder of its own: a change of it
# installs no other client anew.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

command -v npm >/dev/null || die "npm is needed for Cline; install Node.js 20 or newer and try again"
name="cline-$(fingerprint "$ROOT"/tools/cline/package*.json "${BASH_SOURCE[0]}")"
stamped "$name" && exit 0

folder="$TOOLS/cline"
rm -rf "$folder"
mkdir -p "$folder"
cp "$ROOT"/tools/cline/package*.json "$folder/"
# Not by --prefix: npm takes a folder behind a symbolic link for a package that its lock lacks.
load() (
  cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund
)
step "Cline (npm)" load
program="$(find "$folder/node_modules/@cline" -path '*/bin/cline' -type f 2>/dev/null | head -n 1)"
[[ -n "$program" ]] || die "tools/cline/package.json has no program of Cline for this kind of machine; add the package @cline/cli-SYSTEM-MACHINE there, and to the lock"
ln -s "${program#"$folder"/}" "$folder/cline"
"$folder/cline" --version >/dev/null || die "$folder/cline does not run"
stamp cline "$name"
