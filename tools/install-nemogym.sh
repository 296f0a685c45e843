#!/usr/bin/env bash
# NeMo Gym's classes of requests and responses at .tools/nemogym/VERSION, out of the pinned wheels of several versions.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

wheels="$ROOT/tools/nemogym/wheels.txt"
name="nemogym-$(fingerprint "$wheels" "${BASH_SOURCE[0]}")"
folder="$TOOLS/nemogym"
if stamped "$name" && [[ -d "$folder" ]]; then
  exit 0
fi

python="${PYTHON:-python3}"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
rm -rf "$folder"
while IFS= read -r pin; do
  version="${pin#*==}"
  version="${version%% *}"
  echo "$pin" >"$scratch/wheel.txt"
  # The classes need no newer Python than the tests have, unlike the rest of the package.
  step "NeMo Gym's wheel $version (PyPI)" "$python" -m pip download --disable-pip-version-check --no-input --no-deps \
    --require-hashes --only-binary :all: --ignore-requires-python --dest "$scratch/$version" -r "$scratch/wheel.txt"
  step "  its classes" "$python" - "$scratch/$version" "$folder/$version" <<'EOP'
import glob, os, sys, zipfile

scratch, folder = sys.argv[1:]
os.makedirs(folder)
with zipfile.ZipFile(glob.glob(scratch + "/*.whl")[0]) as wheel, open(folder + "/openai_utils.py", "wb") as file:
    file.write(wheel.read("nemo_gym/openai_utils.py"))
EOP
done < <(grep -v '^#' "$wheels")
stamp nemogym "$name"
