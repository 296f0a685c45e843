"""Writes harmonycore/harmony/builtin.json, the built-in tools as the model is told of them, and prints the SHA-256 of the
ids that the reference renders them to, for builtin_test.go. Needs what generate.py needs.
"""
import hashlib
import json
import pathlib

import openai_harmony as oh

OUT = pathlib.Path(__file__).resolve().parents[2] / "harmonycore" / "harmony" / "builtin.json"


TEXT = {"type": "string"}

# The reference does not have it. The arguments are those that vLLM documents at call_container_tool.
CONTAINER = {
    "name": "container",
    "description": "Tool for running commands in a container.",
    "tools": [
        {
            "name": "exec",
            "description": "Runs a command and returns its output. `cmd` is the program and its arguments.\n"
            "`workdir` is the directory it runs in, `env` is added to its environment, and `user` is whom it runs as.\n"
            "Commands with the same `session_name` run in one terminal session.\n"
            "A command is stopped after `timeout` seconds.",
            "parameters": {
                "type": "object",
                "properties": {
                    "cmd": {"type": "array", "items": TEXT},
                    "workdir": TEXT,
                    "env": {"type": "object", "additionalProperties": TEXT},
                    "session_name": TEXT,
                    "timeout": {"type": "integer"},
                    "user": TEXT,
                },
                "required": ["cmd"],
            },
        }
    ],
}


def main():
    configs = {"browser": oh.ToolNamespaceConfig.browser(), "python": oh.ToolNamespaceConfig.python()}
    tools = {key: config.model_dump() for key, config in configs.items()} | {"container": CONTAINER}
    OUT.write_text(json.dumps(tools, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    system = {"type": "system_content", "tools": tools}
    text = json.dumps({"messages": [{"role": "system", "content": [system]}]})
    encoding = oh.load_harmony_encoding(oh.HarmonyEncodingName.HARMONY_GPT_OSS)
    ids = encoding._inner.render_conversation(text, None)
    print(len(ids), hashlib.sha256(" ".join(map(str, ids)).encode()).hexdigest())


main()
