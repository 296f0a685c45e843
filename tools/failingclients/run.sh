#!/usr/bin/env bash
# What eleven clients, installed into a temporary folder, make of an answer that fails in its middle. It is outside CI: it
# downloads about 300 MB and builds Rust. It prints a line for each client and API, as docs/faults.md has them.
#
#   harmony sim --listen 127.0.0.1:18000 --fault error-event:45 &
#   harmony up --listen 127.0.0.1:18080 --model gpt-oss-120b --backend vllm=http://127.0.0.1:18000 &
#   tools/failingclients/run.sh http://127.0.0.1:18080/v1
#
# Needed: Python 3.11, Node.js 20, Go 1.26, Java 17 with Maven, Rust 1.95. A second argument names a folder that is kept,
# so that the next run installs nothing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
url="${1:?usage: run.sh BASE_URL [FOLDER]}"
folder="${2:-}"
if [[ -z "$folder" ]]; then
  folder="$(mktemp -d)"
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder"/{node,java,rust/src}

# environment NAME PACKAGE ... makes one for Python. These clients have no version of openai in common.
environment() {
  [[ ! -x "$folder/$1/bin/python" ]] || return 0
  python3 -m venv "$folder/$1"
  "$folder/$1/bin/pip" install -q --disable-pip-version-check "${@:2}"
}
environment python1 openai-agents==0.24.0 langchain-openai==1.7.3
"$folder/python1/bin/python" clients.py "$url" "openai-agents 0.24.0" "LangChain 1.7.3"
environment python2 llama-index-llms-openai-like==0.8.1 haystack-ai==3.4.1 agno==3.1.10 'strands-agents[openai]==1.62.0'
"$folder/python2/bin/python" clients.py "$url" "LlamaIndex 0.8.1" "Haystack 3.4.1" "Agno 3.1.10" "Strands 1.62.0"

if [[ ! -d "$folder/node/node_modules" ]]; then
  npm install --prefix "$folder/node" --no-audit --no-fund --silent @langchain/openai@1.5.8 @langchain/core@1.4.0
fi
cp client.mjs "$folder/node/"
node "$folder/node/client.mjs" "$url"

go run -C go . "$url"

cp Client.java "$folder/java/"
cp pom.xml "$folder/java/"
[[ -d "$folder/java/lib" ]] || mvn -q -B -f "$folder/java/pom.xml" dependency:copy-dependencies -DoutputDirectory=lib
java -cp "$folder/java/lib/*" "$folder/java/Client.java" "$url" 2>&1 | grep -v SLF4J

cp Cargo.toml "$folder/rust/"
cp main.rs "$folder/rust/src/"
cargo run -q --manifest-path "$folder/rust/Cargo.toml" -- "$url"
