#!/usr/bin/env bash
# What a past call and its result become once vLLM's fork of openai-harmony is installed beside it.
#
# Software: openai-harmony 0.0.8 and oss-harmony 0.0.11 (PyPI), which vLLM 0.32 and newer require.
# A good guess: two distributions are two modules, or at least one of them wins visibly; and a fork renders a
# conversation as the original does.
# Seen: both install the module openai_harmony. After `pip install oss-harmony`, pip lists both and `pip check` finds
# nothing wrong, and the same program renders other ids. A call moves its recipient behind the channel and marks its
# content type. A tool's result moves its recipient too:
#   functions.f to=assistant<|channel|>commentary     openai-harmony, OpenAI's guide, the model's chat template
#   functions.f<|channel|>commentary to=assistant     oss-harmony
# A default 1e20 of a schema becomes 1e+20. Nothing moves on other channels than commentary.
# Consequence: a prompt depends on which of the two was installed last. Whoever renders gpt-oss's prompts in an
# environment with vLLM renders by oss-harmony, and misses the prefix cache of whoever does not.
set -euo pipefail

dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
cat >"$dir/render.py" <<'PY'
import json
import openai_harmony as harmony

encoding = harmony.load_harmony_encoding(harmony.HarmonyEncodingName.HARMONY_GPT_OSS)
parameters = {"type": "object", "properties": {"a": {"type": "number", "default": 1e20}}}
tools = {"functions": {"name": "functions", "tools": [{"name": "f", "description": "d", "parameters": parameters}]}}
conversation = {"messages": [
    {"role": "developer", "content": [{"type": "developer_content", "tools": tools}]},
    {"role": "assistant", "channel": "commentary", "recipient": "functions.f", "content_type": "json", "content": "{}"},
    {"role": "tool", "name": "functions.f", "recipient": "assistant", "channel": "commentary", "content": "r"},
    {"role": "tool", "name": "browser.open", "recipient": "assistant", "channel": "analysis", "content": "r"},
]}
print(encoding.decode(encoding._inner.render_conversation(json.dumps(conversation), None)))
PY
cat >"$dir/vocabulary.py" <<'PY'
# openai-harmony reads its vocabulary from a file, which it would download. oss-harmony carries it.
import base64, sys
import openai_harmony as harmony

inner = harmony.load_harmony_encoding(harmony.HarmonyEncodingName.HARMONY_GPT_OSS)._inner
with open(sys.argv[1], "w") as out:
    for id in range(199998):
        out.write(f"{base64.b64encode(bytes(inner.decode_bytes([id]))).decode()} {id}\n")
PY
pip() { "$dir/$1/bin/python" -m pip "${@:2}" --disable-pip-version-check; }
for each in both fork; do python3 -m venv "$dir/$each"; done
pip fork install --quiet oss-harmony==0.0.11
pip both install --quiet openai-harmony==0.0.8
env -u TIKTOKEN_ENCODINGS_BASE "$dir/fork/bin/python" "$dir/vocabulary.py" "$dir/o200k_base.tiktoken"
export TIKTOKEN_ENCODINGS_BASE="$dir"

original="$("$dir/both/bin/python" "$dir/render.py")"
pip both install --quiet oss-harmony==0.0.11
later="$("$dir/both/bin/python" "$dir/render.py")"
pip both check
pip both list | grep -i harmony
printf 'before:\n%s\n\nafter:\n%s\n' "$original" "$later"

holds() { # holds TEXT PART: TEXT has PART
  [[ "$1" == *"$2"* ]] || { echo "CHANGED: no $2"; exit 1; }
}
[[ "$(pip both list | grep -ic harmony)" == 2 ]] || { echo "CHANGED: pip does not list both"; exit 1; }
holds "$original" 'assistant to=functions.f<|channel|>commentary json<|message|>'
holds "$original" 'functions.f to=assistant<|channel|>commentary<|message|>'
holds "$original" 'default: 1e20'
holds "$later" 'assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>'
holds "$later" 'functions.f<|channel|>commentary to=assistant<|message|>'
holds "$later" 'default: 1e+20'
for each in "$original" "$later"; do holds "$each" 'browser.open to=assistant<|channel|>analysis<|message|>'; done
