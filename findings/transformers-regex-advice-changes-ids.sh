#!/usr/bin/env bash
# The advice that transformers prints for the tokenizer of gpt-oss, and what becomes of one who takes it.
#
# Software: transformers 5.19.0, tokenizers 0.23.3, tiktoken 0.14.0 (PyPI). The folder has a tokenizer.json with o200k's
# own ids, merges and pattern. The pattern is the one that openai/gpt-oss-20b has, and tiktoken's for o200k_harmony.
# A good guess: a warning that says "incorrect regex pattern. This will lead to incorrect tokenization. You should set
# the `fix_mistral_regex=True` flag" is right, or at least does no harm.
# Seen: the folder is read with the right ids as it is. With the flag the ids of texts with numbers of more than one
# digit and with 's, 'll, 't are others: the pattern of another model takes the place of o200k's. Nothing says so.
# Consequence: prompts have more tokens, and numbers in pieces in which the model never saw them. Whoever
# compares ids of
# two machines, one with the flag, finds them different.
set -euo pipefail

dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.19.0 tokenizers==0.23.3 \
  tiktoken==0.14.0 oss-harmony==0.0.11

cat >"$dir/try.py" <<'PY'
import json, sys
import openai_harmony as harmony, tiktoken
from transformers import AutoTokenizer

folder = sys.argv[1]
inner = harmony.load_harmony_encoding(harmony.HarmonyEncodingName.HARMONY_GPT_OSS)._inner
tokens = [bytes(inner.decode_bytes([id])) for id in range(199998)]  # of oss-harmony, which has the vocabulary in it
ranks = {token: id for id, token in enumerate(tokens)}
pattern = "|".join((
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"))
right = tiktoken.Encoding("o200k", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def halves(token):
    """The two tokens of which a token was merged last: bytes merge as long as the result is an older token."""
    parts = [token[i:i + 1] for i in range(len(token))]
    while len(parts) > 2:
        best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], 1 << 30))
        parts[best:best + 2] = [parts[best] + parts[best + 1]]
    return parts


printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
others = [b for b in range(256) if b not in printable]
letters = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}
spell = lambda token: "".join(letters[b] for b in token)
split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
files = {
    "config.json": {"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss"},
    "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast"},
    "tokenizer.json": {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "added_tokens": [],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
        "post_processor": level, "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "ignore_merges": True, "byte_fallback": False,
                  "vocab": {spell(t): i for t, i in ranks.items()},
                  "merges": [[spell(part) for part in halves(t)] for t in tokens if len(t) > 1]}},
}
for name, value in files.items():
    open(f"{folder}/{name}", "w").write(json.dumps(value))

plain = AutoTokenizer.from_pretrained(folder)
advised = AutoTokenizer.from_pretrained(folder, fix_mistral_regex=True)
for text in ("Hello, world!", "In 2026", "1234567", "I'll go", "It's DON'T"):
    ids = [t.encode(text, add_special_tokens=False) for t in (plain, advised)]
    print(text, "|", "as tiktoken" if ids[0] == right.encode(text) else "not as tiktoken", ids[0], "| advised", ids[1])
PY
seen="$("$dir/venv/bin/python" "$dir/try.py" "$dir" 2>"$dir/log")" || { cat "$dir/log"; exit 1; }
seen+="
$(grep -o 'You should set the .* flag' "$dir/log" | sort -u)"
expected="Hello, world! | as tiktoken [13225, 11, 2375, 0] | advised [13225, 11, 2375, 0]
In 2026 | as tiktoken [637, 220, 1323, 21] | advised [637, 220, 17, 15, 17, 21]
1234567 | as tiktoken [7633, 19354, 22] | advised [16, 17, 18, 19, 20, 21, 22]
I'll go | as tiktoken [67504, 810] | advised [40, 6090, 810]
It's DON'T | as tiktoken [15834, 153384] | advised [3206, 885, 66995, 51532]
You should set the \`fix_mistral_regex=True\` flag"
printf '%s\n' "$seen"
[[ "$seen" == "$expected" ]] || { echo "This has changed. Expected:"; echo "$expected"; exit 1; }
