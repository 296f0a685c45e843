"""Writes harmonycore/harmony/builtin.json, the built-in tools as the reference describes them to the model, and prints
the SHA-256 of the ids that it renders them to, for builtin_test.go. Needs what generate.py needs.
"""
import hashlib
import json
import pathlib

import openai_harmony as oh

OUT = pathlib.Path(__file__).resolve().parents[2] / "harmonycore" / "harmony" / "builtin.json"


def main():
    configs = {"browser": oh.ToolNamespaceConfig.browser(), "python": oh.ToolNamespaceConfig.python()}
    tools = {key: config.model_dump() for key, config in configs.items()}
    OUT.write_text(json.dumps(tools, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    system = {"type": "system_content", "tools": tools}
    text = json.dumps({"messages": [{"role": "system", "content": [system]}]})
    encoding = oh.load_harmony_encoding(oh.HarmonyEncodingName.HARMONY_GPT_OSS)
    ids = encoding._inner.render_conversation(text, None)
    print(len(ids), hashlib.sha256(" ".join(map(str, ids)).encode()).hexdigest())


main()
