#!/usr/bin/env bash
# Stands in for Envoy in `make slowest`: notes in the file $ENVOY_STARTS who starts one, and starts $ENVOY_COUNTED. A
# package is known by its folder, a program by the test whose temporary folder it runs in.
set -euo pipefail

if [[ "$*" != *--version* ]]; then
  who=${PWD##*/e2e/}
  [[ ! $PWD =~ /(Test[A-Za-z]+) ]] || who=${BASH_REMATCH[1]}
  echo "$who" >>"$ENVOY_STARTS"
fi
exec "$ENVOY_COUNTED" "$@"
