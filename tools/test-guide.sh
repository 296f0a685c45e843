#!/usr/bin/env bash
# Follows docs/testing-filters.md to the letter, in an empty folder outside of the repository: files are written, commands
# run in one shell as they stand there, and what the guide shows must be in what they print.
set -euo pipefail
# shellcheck source=tools/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

guide="$ROOT/docs/testing-filters.md"
scratch="$(mktemp -d)"
printed="$scratch/printed"
line=0

# Whatever the guide has left running ends with it, and a failure says where and shows what the commands have printed.
exec 3>&2
finish() {
  local rc=$?
  exec 2>&3 # it may have been called in the middle of a block
  if ((rc != 0)); then
    say "error: $guide, line $line: the block that begins there fails; the last commands have printed:"
    cat "$printed" >&3
  fi
  # shellcheck disable=SC2046 # a list of numbers
  kill $(jobs -p) 2>/dev/null || true
  rm -rf "$scratch"
  exit "$rc"
}
trap finish EXIT

# Every block becomes a file NUMBER.KIND, and before it in the order NUMBER.0 says in which line it begins.
mkdir "$scratch/blocks" "$scratch/reader"
: >"$printed"
awk -v folder="$scratch/blocks" '
  /^```/ && open { open = 0; close(file); next }
  /^```/ {
    kind = substr($0, 4)
    if (kind !~ /^[a-z]+$/) { print "line " NR ": a block of no kind" > "/dev/stderr"; exit 1 }
    number = sprintf("%s/%03d", folder, ++n)
    print NR > (number ".0")
    file = number "." kind
    open = 1
    next
  }
  open { print > file }
  END { if (open || n == 0) { print "no blocks, or the last has no end" > "/dev/stderr"; exit 1 } }
' "$guide"

# shown FILE: every line of it, in which … is anything, is part of a line that was printed. Blanks are all alike.
shown() {
  local wanted pattern
  while IFS= read -r wanted; do
    pattern="$(tr -s ' ' <<<"$wanted" | sed 's/[][\.*^(){}?+|/$]/\\&/g; s/…/.*/g')"
    if ! tr -s ' \t' ' ' <"$printed" | grep -E -- "$pattern" >/dev/null; then
      say "not printed: $wanted"
      return 1
    fi
  done <"$1"
}

# named FILE: the name that its first line, a comment, gives it.
named() { sed -n '1s/^\(\/\/\|#\) \([a-z_.]*\)$/\2/p' "$1"; }

# The guide's gateway listens on a free port here.
port=18080
while (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((20000 + RANDOM % 10000)); done
sed -i "s/18080/$port/g" "$scratch/blocks"/*

# What the guide tells its reader to set.
export HARMONY_EDGE="$ROOT"
cd "$scratch/reader"
for block in "$scratch"/blocks/*; do
  case "$block" in
    *.0) line="$(<"$block")" ;;
    *.sh)
      say "==> line $line: $(grep -c . "$block") commands"
      # shellcheck disable=SC1090 # in this shell, as a reader does it
      source "$block" >"$printed" 2>&1
      ;;
    *.text) shown "$block" ;;
    *)
      name="$(named "$block")"
      [[ -n "$name" ]]
      say "==> line $line: $name"
      cp "$block" "$name"
      ;;
  esac
done
say "the guide works"
