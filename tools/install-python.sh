#!/usr/bin/env bash
# install-python.sh NAME: a virtual environment at .tools/venv/NAME with what tools/python/NAME.txt pins, by version and by hash:
# what PyPI or a mirror serves in a file's place is not installed. tools/pin-python.sh writes the hashes.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

client="${1:?usage: install-python.sh NAME}"
requirements="$ROOT/tools/python/$client.txt"
[[ -f "$requirements" ]] || die "no file $requirements"
name="python-$client-$(fingerprint "$requirements" "${BASH_SOURCE[0]}")"
stamped "$name" && exit 0

python="${PYTHON:-python3}"
command -v "$python" >/dev/null || die "Python 3.11 or newer is needed; install it or set PYTHON=/path/to/python3"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "$("$python" --version) is too old; 3.11 or newer is needed"
if ! has_venv; then
  need_packages "A Python virtual environment" "Or set PYTHON to a Python that has the modules venv and ensurepip." python3-venv
fi

venv="$TOOLS/venv/$client"
rm -rf "$venv"
step "Python environment \"$client\"" "$python" -m venv "$venv"
step "  its packages (PyPI)" "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --require-virtualenv \
  --require-hashes -r "$requirements"
stamp "python-$client" "$name"
