#!/usr/bin/env bash
# The clients in Rust that tools/more-clients-rust pins, built at .tools/more-clients-rust: its Cargo.lock has every crate
# by version and checksum. The programs are beside their pins, because they are built here.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# rustup puts cargo there, and not every shell's PATH has it.
PATH="$PATH:$HOME/.cargo/bin"
command -v cargo >/dev/null || die "cargo is needed for these clients, on PATH or in ~/.cargo/bin; install Rust 1.95 or newer (https://rustup.rs) and try again"
source="$ROOT/tools/more-clients-rust"
name="more-clients-rust-$(fingerprint "$source"/Cargo.* "$source"/src/* "${BASH_SOURCE[0]}")"
stamped "$name" && exit 0

folder="$TOOLS/more-clients-rust"
mkdir -p "$folder/bin"
step "async-openai and rig (Cargo)" cargo build --locked --manifest-path "$source/Cargo.toml" --target-dir "$folder/target"
cp "$folder/target/debug/async-openai" "$folder/target/debug/rig" "$folder/bin/"
# Only the programs are needed: the rest is hundreds of megabytes.
rm -r "$folder/target"
stamp more-clients-rust "$name"
