#!/usr/bin/env bash
# vLLM's Rust front end at .tools/vllm/vllm/vllm-rs, and the sources of its Python one beside it, out of the pinned wheel.
# What needs a GPU stays in the wheel: of its 600 MB the front end is 60.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

requirements="$ROOT/tools/vllm/wheel.txt"
name="vllm-$(fingerprint "$requirements" "${BASH_SOURCE[0]}")"
folder="$TOOLS/vllm"
if stamped "$name" && [[ -x "$folder/vllm/vllm-rs" ]]; then
  exit 0
fi
[[ "$(uname -sm)" == "Linux x86_64" ]] || die "vLLM's wheel with the Rust front end is pinned for Linux on x86_64 alone"

python="${PYTHON:-python3}"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
step "vLLM's wheel (PyPI, 340 MB)" "$python" -m pip download --disable-pip-version-check --no-input --no-deps --require-hashes \
  --only-binary :all: --dest "$scratch" -r "$requirements"
rm -rf "$folder"
step "  its front ends" "$python" - "$scratch" "$folder" <<'EOF'
import glob, os, sys, zipfile

scratch, folder = sys.argv[1:]
with zipfile.ZipFile(glob.glob(scratch + "/*.whl")[0]) as wheel:
    for name in wheel.namelist():
        if name == "vllm/vllm-rs" or name.startswith("vllm/") and name.endswith(".py"):
            wheel.extract(name, folder)
os.chmod(folder + "/vllm/vllm-rs", 0o755)
EOF
"$folder/vllm/vllm-rs" --version >&2
stamp vllm "$name"
