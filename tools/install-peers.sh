#!/usr/bin/env bash
# What the peers publish with their sources and our tests read: chat templates of models, and the tests of their parsers,
# at .tools/peers. They come from PyPI and crates.io (45 MB), and nothing of them is in this repository.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

folder="$TOOLS/peers"
archives="$ROOT/tools/peers/archives.txt"
requirements="$ROOT/tools/peers/pytest.txt"
pins="peers-$(fingerprint "$archives" "$requirements" "${BASH_SOURCE[0]}")"

# parts are the files of an archive that are wanted: the others are 300 MB.
parts() {
  case "$1" in
  vllm-*) printf '%s\n' '*/examples/*.jinja' '*/rust/src/chat/tests/templates/*.jinja' '*/tests/parser/*' '*/tests/tool_parsers/*' \
    '*/tests/tool_use/*' '*/tests/reasoning/*' '*/tests/__init__.py' ;;
  *) printf '%s\n' '*' ;;
  esac
}

unpack() {
  local name="$1" url="$2" sum="$3" wanted
  curl --fail --silent --show-error --location --retry 3 --output "$folder/$name" "$url"
  echo "$sum  $folder/$name" | sha256sum --check --quiet
  mapfile -t wanted < <(parts "$name")
  tar --extract --gzip --file "$folder/$name" --directory "$folder" --wildcards "${wanted[@]}"
  rm "$folder/$name"
}

if ! stamped "$pins"; then
  rm -rf "$folder"
  mkdir -p "$folder"
  while read -r name url sum; do
    step "the peers' tests: $name" unpack "$name" "$url" "$sum"
  done <"$archives"
  step "pytest, which runs vLLM's" "${PYTHON:-python3}" -m pip install --disable-pip-version-check --no-input --no-deps \
    --only-binary :all: --require-hashes --target "$folder/python" -r "$requirements"
  stamp peers "$pins"
fi
