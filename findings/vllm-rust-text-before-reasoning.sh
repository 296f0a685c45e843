#!/usr/bin/env bash
# The order in which vLLM's Rust front end puts what one turn of gpt-oss said.
#
# Software: vLLM 0.33.0, its program vllm-rs (PyPI vllm 0.33.0; `vllm-rs render` makes prompts without an engine),
# oss-harmony 0.0.11 for the vocabulary.
# A good guess: a model reasons, says what it is going to do, and calls a tool. When the message comes back with
# `reasoning`, `content` and `tool_calls`, the prompt has them in that order: OpenAI's guide shows it under "Preambles".
# Seen: the text stands before the reasoning: commentary, analysis, call. (vLLM's Python front end, 0.32.0, does the
# same in Chat.) A tool's result is `functions.f<|channel|>commentary to=assistant`, and not
# `functions.f to=assistant<|channel|>commentary` as the guide and the model's chat template have it.
# Consequence: the next prompt does not begin with the last prompt and what was generated. All of a turn with a text
# beside its calls is computed again, and the model reads a turn in an order in which it never writes one.
set -euo pipefail

dir="$(mktemp -d)"
pid=""
stop() {
  if [[ -n "$pid" ]]; then kill "$pid" 2>/dev/null || true; fi
  wait 2>/dev/null || true
  rm -rf "$dir"
}
trap stop EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check oss-harmony==0.0.11
"$dir/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$dir" vllm==0.33.0
mkdir "$dir/model"

cat >"$dir/model.py" <<'PY'
# A model's folder without weights: its kind and its vocabulary, in Hugging Face's form and in tiktoken's.
import base64, glob, json, sys, zipfile
import openai_harmony as harmony

folder = sys.argv[1]
inner = harmony.load_harmony_encoding(harmony.HarmonyEncodingName.HARMONY_GPT_OSS)._inner
tokens = [bytes(inner.decode_bytes([id])) for id in range(201088)]
printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
others = [b for b in range(256) if b not in printable]
letters = {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}
special = {"special": True, "normalized": False, "lstrip": False, "rstrip": False, "single_word": False}
step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
files = {
    "config.json": {"architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "eos_token_id": 200002,
                    "vocab_size": 201088, "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1,
                    "num_key_value_heads": 1, "max_position_embeddings": 131072, "torch_dtype": "bfloat16"},
    "generation_config.json": {"eos_token_id": [200002, 199999, 200012]},
    "tokenizer_config.json": {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|return|>"},
    "tokenizer.json": {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None,
        "added_tokens": [{"id": i, "content": tokens[i].decode()} | special for i in range(199998, 201088)],
        "pre_tokenizer": step, "post_processor": step, "decoder": step,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": True,
                  "vocab": {"".join(letters[b] for b in t): i for i, t in enumerate(tokens[:199998])}, "merges": []},
    },
}
for name, content in files.items():
    json.dump(content, open(f"{folder}/model/{name}", "w"))
with open(f"{folder}/o200k_base.tiktoken", "w") as out:
    for i, t in enumerate(tokens[:199998]):
        out.write(f"{base64.b64encode(t).decode()} {i}\n")
zipfile.ZipFile(glob.glob(f"{folder}/*.whl")[0]).extract("vllm/vllm-rs", folder)
PY
env -u TIKTOKEN_ENCODINGS_BASE "$dir/venv/bin/python" "$dir/model.py" "$dir"
chmod +x "$dir/vllm/vllm-rs"

port="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
export TIKTOKEN_ENCODINGS_BASE="$dir"
"$dir/vllm/vllm-rs" render "$dir/model" --port "$port" --served-model-name m >"$dir/log" 2>&1 &
pid=$!
for _ in $(seq 600); do
  curl -sf -o "$dir/health" "http://127.0.0.1:$port/health" && break
  kill -0 "$pid" || { cat "$dir/log"; exit 1; }
  sleep 0.1
done

cat >"$dir/ask.py" <<'PY'
import json, sys, urllib.request
import openai_harmony as harmony

encoding = harmony.load_harmony_encoding(harmony.HarmonyEncodingName.HARMONY_GPT_OSS)
user = {"role": "user", "content": "Rain?"}
call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
turn = {"role": "assistant", "reasoning": "Look it up.", "content": "I look.", "tool_calls": [call]}
result = {"role": "tool", "tool_call_id": "c1", "content": "Rain."}
wrote = ("<|channel|>analysis<|message|>Look it up.<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|>"
         "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>")

def render(*messages):
    body = json.dumps({"model": "m", "messages": messages}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{sys.argv[1]}/v1/chat/completions/render", body,
                                     {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))["token_ids"]

last = render(user)
sampled = encoding.encode(wrote, allowed_special="all")
following = render(user, turn, result)
same = next(i for i, (a, b) in enumerate(zip(last + sampled, following)) if a != b)
print("the model wrote:", wrote)
print("the next prompt:", encoding.decode(following[len(last):]))
print(f"of {len(sampled)} ids that the model wrote, the next prompt begins with {same - len(last)}")
text = encoding.decode(following)
if text.index("I look.") > text.index("Look it up."):
    sys.exit("CHANGED: reasoning stands before the text")
if "functions.f<|channel|>commentary to=assistant<|message|>Rain." not in text:
    sys.exit("CHANGED: the header of a result")
PY
"$dir/venv/bin/python" "$dir/ask.py" "$port"
