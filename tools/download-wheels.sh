#!/usr/bin/env bash
# download-wheels.sh NAME: the packages that tools/python/NAME.txt pins, by version and by hash, as files in .tools/wheels/NAME,
# for tests that install them where there is no network.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

packages="${1:?usage: download-wheels.sh NAME}"
requirements="$ROOT/tools/python/$packages.txt"
[[ -f "$requirements" ]] || die "no file $requirements"
name="wheels-$packages-$(fingerprint "$requirements" "${BASH_SOURCE[0]}")"
stamped "$name" && exit 0

rm -rf "$TOOLS/wheels/$packages"
step "wheels of \"$packages\" (PyPI)" "${PYTHON:-python3}" -m pip download --disable-pip-version-check --no-input --no-deps \
  --require-hashes --only-binary :all: -r "$requirements" -d "$TOOLS/wheels/$packages"
stamp "wheels-$packages" "$name"
