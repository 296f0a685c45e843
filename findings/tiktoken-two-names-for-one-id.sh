#!/usr/bin/env bash
# The special tokens of tiktoken's encoding o200k_harmony, which is gpt-oss's.
#
# Software: tiktoken 0.14.0 (PyPI). Its list of special tokens needs no vocabulary file.
# A good guess: each special token has one name, and what is decoded from the ids of a text is the text again.
# Seen: 1,091 names for 1,090 ids. 200018 is <|endofprompt|> and <|reserved_200018|>: both encode to it, and it
# decodes to
# the first.
# Consequence: a table from names to ids cannot be turned round, and a check that decodes what it has encoded fails. In
# the model's own tokenizer.json each id has one name, so there one of the two spellings is ordinary text.
set -euo pipefail

dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check tiktoken==0.14.0
seen="$("$dir/venv/bin/python" - <<'PY'
import tiktoken
from tiktoken_ext import openai_public

openai_public.load_tiktoken_bpe = lambda *_, **__: {bytes([i]): i for i in range(256)}
special = openai_public.o200k_harmony()["special_tokens"]
names = {}
for name, id in special.items():
    names.setdefault(id, []).append(name)
print(len(special), "names for", len(names), "ids, the last of which is", max(names))
print({id: name for id, name in names.items() if len(name) > 1})
e = tiktoken.Encoding("o", pat_str=r".", mergeable_ranks=openai_public.load_tiktoken_bpe(), special_tokens=special)
ids = e.encode("<|endofprompt|><|reserved_200018|>", allowed_special="all")
print(ids, "decode to", e.decode(ids))
PY
)"
expected="1091 names for 1090 ids, the last of which is 201087
{200018: ['<|endofprompt|>', '<|reserved_200018|>']}
[200018, 200018] decode to <|endofprompt|><|endofprompt|>"
printf '%s\n' "$seen"
[[ "$seen" == "$expected" ]] || { echo "This has changed. Expected:"; echo "$expected"; exit 1; }
