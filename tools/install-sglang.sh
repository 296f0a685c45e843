#!/usr/bin/env bash
# SGLang's request models at .tools/sglang, out of the pinned wheel: what its paths take, and the sampling parameters.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

requirements="$ROOT/tools/sglang/wheel.txt"
name="sglang-$(fingerprint "$requirements" "${BASH_SOURCE[0]}")"
folder="$TOOLS/sglang"
if stamped "$name" && [[ -d "$folder/sglang" ]]; then
  exit 0
fi

python="${PYTHON:-python3}"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
# The files are the same in the wheels for all machines. One of them is pinned.
step "SGLang's wheel (PyPI, 39 MB)" "$python" -m pip download --disable-pip-version-check --no-input --no-deps \
  --require-hashes --only-binary :all: --implementation cp --python-version 3.11 --abi cp311 \
  --platform manylinux_2_34_x86_64 --dest "$scratch" -r "$requirements"
rm -rf "$folder"
step "  its request models" "$python" - "$scratch" "$folder" <<'EOP'
import glob, sys, zipfile

scratch, folder = sys.argv[1:]
with zipfile.ZipFile(glob.glob(scratch + "/*.whl")[0]) as wheel:
    for name in ("api/v1/api_types", "srt/entrypoints/openai/protocol", "srt/entrypoints/openai/serving_completions",
                 "srt/managers/io_struct", "srt/sampling/sampling_params"):
        wheel.extract("sglang/" + name + ".py", folder)
EOP
stamp sglang "$name"
