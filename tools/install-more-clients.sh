#!/usr/bin/env bash
# The clients that tools/more-clients pins, at .tools/more-clients: JavaScript's from package-lock.json, and Java's from
# pom.xml, whose archives are in the file classpath. JavaScript's run on the Node.js of .tools/clients.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for program in npm mvn javac java; do
  command -v "$program" >/dev/null || die "$program is needed for these clients; install Node.js 20, Maven 3 and a JDK 17, or newer ones, and try again"
done
name="more-clients-$(fingerprint "$ROOT"/tools/more-clients/* "${BASH_SOURCE[0]}")"
stamped "$name" && exit 0

folder="$TOOLS/more-clients"
rm -rf "$folder"
mkdir -p "$folder"
cp "$ROOT"/tools/more-clients/* "$folder/"
# Not npm ci: optional packages of Qwen Code are missing in the registry, so no lock has them.
step "LangChain.js and Qwen Code (npm)" npm --prefix "$folder" install --no-save --omit=optional --ignore-scripts --no-audit --no-fund
step "LangChain4j and Spring AI (Maven)" mvn -q -B -f "$folder/pom.xml" -Dmaven.repo.local="$folder/maven" \
  dependency:build-classpath -Dmdep.outputFile="$folder/classpath"
stamp more-clients "$name"
