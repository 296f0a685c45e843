#!/usr/bin/env bash
# Goes from nothing to a program that uses the core as a library. The last commit becomes a module behind a file proxy, and
# in an empty folder `go get` takes it from there. The packages' examples are built there as programs, and must print what
# they say. After `go mod tidy` the folder's go.mod and go's module cache must have only what the core imports.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

module="$(go list -m)"
packages=(harmonycore/harmony harmonycore/tokenizer/o200k harmonycore/completion)
vocabulary=harmonycore/tokenizer/o200k/o200k.vocab
version="v0.0.0-$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y%m%d%H%M%S)-$(git rev-parse --short=12 HEAD)"

scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

# A module's archive is its commit without the modules inside of it.
outside=()
while IFS= read -r folder; do outside+=(":(exclude)$folder"); done < <(git ls-tree -r --name-only HEAD | sed -n 's|/go\.mod$||p')
at="$scratch/proxy/$module/@v"
mkdir -p "$at"
git archive --format=zip --prefix="$module@$version/" -o "$at/$version.zip" HEAD -- . "${outside[@]}"
git show HEAD:go.mod >"$at/$version.mod"
: >"$at/list" # versions with a tag; this one has none
printf '{"Version":"%s","Time":"%s"}\n' "$version" "$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)" >"$at/$version.info"

# Go takes 500 MiB at most. A module that people take for one package should be far from that.
size=$(($(wc -c <"$at/$version.zip") / 1024))
((size < 20 * 1024)) || die "the module's archive has $size KiB"

# Everything else comes from the module cache, by whose go.sum it has been checked: no other place is asked.
step "modules that it needs" go mod download
cache="$(go env GOMODCACHE)/cache/download"
export GOPROXY="file://$scratch/proxy,file://$cache,off"
export GOMODCACHE="$scratch/modcache" GOFLAGS="-mod=mod -modcacherw" GOSUMDB=off GOTOOLCHAIN=local GOWORK=off

mkdir "$scratch/user"
cd "$scratch/user"
step "go mod init" go mod init example.com/user
for package in "${packages[@]}"; do step "go get $package" go get "$module/$package@$version"; done
[[ "$(go list -m "$module")" == "$module $version" ]] || die "go get took $(go list -m "$module"), not $version"
[[ -s "$(go list -m -f '{{.Dir}}' "$module")/$vocabulary" ]] || die "the module has no $vocabulary"

# Each example becomes a program, with what it must print beside it.
for package in "${packages[@]}"; do
  program="$scratch/user/$(basename "$package")"
  example="$(go list -f '{{.Dir}}' "$module/$package")/example_test.go"
  mkdir "$program"
  sed -e 's/^package .*/package main/' -e 's/^func Example()/func main()/' "$example" >"$program/main.go"
  sed -n '/\/\/ Output:/,/^}/s/^\t\/\/ //p' "$example" | sed 1d >"$program/want"
done
step "go mod tidy" go mod tidy

# What the programs import, and nothing else of this module's many requirements.
imported="$(go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}' ./... | sort -u)"
required="$(go mod edit -json | sed -n 's/^.*"Path": "\(.*\)".*$/\1/p' | grep -vx example.com/user | sort -u)"
[[ "$required" == "$imported" ]] || die "go.mod requires"$'\n'"$required"$'\n'"and the programs import"$'\n'"$imported"
if grep -E 'grpc|cobra|wazero|envoy|yaml|prometheus' <<<"$required" >&2; then die "the core needs what only programs need"; fi
fetched="$(find "$GOMODCACHE/cache/download" -name '*.zip' | sed "s|^$GOMODCACHE/cache/download/||; s|/@v/.*||" | sort -u)"
[[ "$fetched" == "$imported" ]] || die "go has fetched"$'\n'"$fetched"$'\n'"and the programs import"$'\n'"$imported"

for package in "${packages[@]}"; do
  program="$scratch/user/$(basename "$package")"
  step "go build $package's example" go build -o "$program/program" "$program"
  "$program/program" >"$program/got"
  diff -u "$program/want" "$program/got" || die "the example of $package prints something else"
done
say "$module $version: an archive of $size KiB; ${#packages[@]} packages taken by go get print what their examples say."
say "After go mod tidy the program needs, and go has fetched:"
say "$required"
