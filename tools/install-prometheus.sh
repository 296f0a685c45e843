#!/usr/bin/env bash
# Prometheus and promtool for tests at .tools/prometheus, a link to their folder: the one of PROMETHEUS_BIN, the one on
# PATH, or Debian's. Debian's package is unpacked, not installed: it would start a server, and bring JavaScript along.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

whole() { [[ -x "$1/prometheus" && -x "$1/promtool" ]]; }

# use FOLDER: makes the link, if the programs run.
use() {
  local program
  for program in prometheus promtool; do
    "$1/$program" --version >/dev/null 2>&1 || die "$1 has no $program that runs"
  done
  ln -sfn "$1" "$TOOLS/prometheus"
}

if [[ -n "${PROMETHEUS_BIN:-}" ]]; then
  use "$(cd "$PROMETHEUS_BIN" && pwd)"
  exit 0
fi
unpacked="$TOOLS/prometheus-debian"
name="prometheus-$(fingerprint "${BASH_SOURCE[0]}")"
if found="$(foreign prometheus)" && whole "$(dirname "$found")"; then
  use "$(dirname "$found")"
  exit 0
fi
if stamped "$name" && whole "$TOOLS/prometheus"; then
  exit 0
fi
command -v apt-get >/dev/null || die "Prometheus is taken from Debian by this script. Elsewhere set PROMETHEUS_BIN to the" \
  "folder of the programs prometheus and promtool."

load() { (cd "$new" && apt-get download prometheus); }
unpack() { dpkg-deb -x "$new"/prometheus_*.deb "$new/root"; }
new="$(mktemp -d "$TOOLS/prometheus.XXXXXX")"
trap 'rm -rf "$new"' EXIT
# A machine that has no list of packages yet, or an old one, says so by failing.
if ! load >/dev/null 2>&1; then
  ((EUID == 0)) || die "apt-get download prometheus fails. Run \"apt-get update\" as root, then try again, or set" \
    "PROMETHEUS_BIN to the folder of the programs prometheus and promtool."
  step "apt-get update" env DEBIAN_FRONTEND=noninteractive apt-get update
  step "Prometheus (Debian's package, 19 MB)" load
fi
step "Prometheus is unpacked" unpack
rm -rf "$unpacked"
mv "$new/root/usr/bin" "$unpacked"
use "$unpacked"
stamp prometheus "$name"
