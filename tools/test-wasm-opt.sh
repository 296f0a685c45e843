#!/usr/bin/env bash
# Stands for wasm-opt where TinyGo compiles tests: without its optimisations, which took half of the time, behind those of
# LLVM that have been made. Only what a goroutine would need to be taken off the stack in mid-call is left out with them:
# the core has none, and TinyGo's testing package runs every test in the first.
set -euo pipefail
exec wasm-opt --pass-arg=asyncify-ignore-indirect --pass-arg=asyncify-ignore-imports "${@/#-O[z0-9]/-O0}"
