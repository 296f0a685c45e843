#!/usr/bin/env bash
# TinyGo at .tools/bin/tinygo with the target files .tools/tinygo/{filter,test}.json: a stock one on PATH when it is new
# enough, else one built from its Go module (tools/tinygo/go.mod) against Debian's LLVM.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

minimum=0.41.1
packages=(clang-19 lld-19 llvm-19-dev libclang-19-dev libclang-rt-19-dev-wasm32 wasi-libc binaryen g++ patch)
alternative="Or install TinyGo $minimum or newer yourself (on macOS: brew tap tinygo-org/tools && brew install tinygo binaryen); a tinygo on PATH is used as it is."

command -v go >/dev/null || die "Go 1.26 or newer is needed; install it and try again"
"$ROOT/tools/install-binaryen.sh"

sources=("$ROOT"/tools/tinygo/* "${BASH_SOURCE[0]}")

# make_target TEMPLATE FILE [KEY=VALUE]...: fills the template's @KEY@s.
make_target() {
  local template="$1" file="$2" text pair
  shift 2
  text="$(cat "$template")"
  for pair in "$@"; do
    text="${text//@${pair%%=*}@/${pair#*=}}"
  done
  printf '%s\n' "$text" >"$file"
}

use_stock() {
  local stock="$1"
  mkdir -p "$TOOLS/tinygo"
  make_target "$ROOT/tools/tinygo/filter-stock.json" "$TOOLS/tinygo/filter.json"
  make_target "$ROOT/tools/tinygo/test-stock.json.in" "$TOOLS/tinygo/test.json" "WASMRUN=$BIN/wasmrun"
  rm -f "$STAMPS"/tinygo-*
  ln -sfn "$stock" "$BIN/tinygo"
}

# TinyGo wants its sources beside it as real folders it may write links next to; the module cache holds them read-only
# and without the folder of the one submodule that it looks for.
copy_root() {
  local module="$1"
  rm -rf "$TOOLS/tinygo"
  cp -RL "$module" "$TOOLS/tinygo"
  chmod -R u+w "$TOOLS/tinygo"
  mkdir -p "$TOOLS/tinygo/bin" "$TOOLS/tinygo/src/net"
  local change
  for change in "$ROOT"/tools/tinygo/*.patch; do
    patch --quiet --strip=1 --directory="$TOOLS/tinygo" <"$change"
  done
}

# compile builds the copy, with the versions of its modules that tools/tinygo/go.mod pins.
compile() (
  local pinned="$TOOLS/tinygo/bin/pinned.mod"
  cp "$ROOT/tools/tinygo/go.sum" "${pinned%.mod}.sum"
  cp "$ROOT/tools/tinygo/go.mod" "$pinned"
  cd "$ROOT/tools/tinygo"
  go mod edit -replace="github.com/tinygo-org/tinygo=$TOOLS/tinygo" "$pinned"
  go build -modfile="$pinned" -tags llvm19 -trimpath -o "$TOOLS/tinygo/bin/tinygo" github.com/tinygo-org/tinygo
)

build_ours() {
  local name module libc builtins
  name="tinygo-$(fingerprint "${sources[@]}")"
  stamped "$name" && return 0

  need_packages "Building TinyGo" "$alternative" "${packages[@]}"
  builtins="$(find /usr/lib/llvm-19/lib/clang -name 'libclang_rt.builtins-wasm32.a' | head -n 1)"
  libc="$(dirname "$(find /usr/lib/wasm32-wasi -name libc.a | head -n 1)")"
  [[ -n "$builtins" && -f "$libc/libc.a" ]] || die "the packages are installed, but libclang_rt.builtins-wasm32.a or wasi-libc's libc.a is not where Debian puts them"

  step "TinyGo's sources (Go module proxy)" bash -c "cd '$ROOT/tools/tinygo' && go mod download"
  module="$(cd "$ROOT/tools/tinygo" && go list -m -f '{{.Dir}}' github.com/tinygo-org/tinygo)"
  copy_root "$module"
  step "TinyGo, built against LLVM 19 (about a minute)" compile
  make_target "$ROOT/tools/tinygo/filter.json.in" "$TOOLS/tinygo/filter.json" "LIBC=$libc" "BUILTINS=$builtins"
  make_target "$ROOT/tools/tinygo/test.json.in" "$TOOLS/tinygo/test.json" "LIBC=$libc" "BUILTINS=$builtins" "WASMRUN=$BIN/wasmrun"
  rm -f "$BIN/tinygo"
  cat >"$BIN/tinygo" <<EOF
#!/usr/bin/env bash
export TINYGOROOT="$TOOLS/tinygo"
exec "$TOOLS/tinygo/bin/tinygo" "\$@"
EOF
  chmod +x "$BIN/tinygo"
  "$BIN/tinygo" version >/dev/null || die "the TinyGo just built does not run"
  stamp tinygo "$name"
}

if stock="$(foreign tinygo)"; then
  # "tinygo version 0.41.1 linux/amd64 (using go version ...)"
  version="$("$stock" version | sed -n 's/^tinygo version \([0-9.]*\).*/\1/p')"
  if [[ -n "$version" ]] && at_least "$minimum" "$version"; then
    use_stock "$stock"
    exit 0
  fi
  say "$stock is TinyGo ${version:-of unknown version}; $minimum or newer is needed, so one is built."
fi
build_ours
