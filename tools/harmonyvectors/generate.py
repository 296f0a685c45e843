"""Writes harmonycore/harmony/testdata/*.jsonl: what the reference (openai-harmony 0.0.8) makes of conversations and
token streams.

    python3 -m venv /tmp/oracle-h && /tmp/oracle-h/bin/pip install openai-harmony==0.0.8
    export TIKTOKEN_ENCODINGS_BASE=<folder of o200k_base.tiktoken, e.g. that of the Go module
        github.com/pkoukk/tiktoken-go-loader v0.0.2, assets/>
    /tmp/oracle-h/bin/python tools/harmonyvectors/generate.py

The same arguments write the same bytes. For a larger run: --seed, --renders, --streams and --out elsewhere, then
HARMONY_VECTORS=<that folder> go test ./harmonycore/harmony/.

A line of render.jsonl:
    {"id", "conversation_json", "next_role", "auto_drop_analysis": true|false|null,
     "completion": [ids]|error, "training": [keep, [ids]]|error, "plain": …}
where [keep, ids] are the first keep ids of completion, then ids. Some have "message_json", one message by itself, and
its rendering "message".
A line of parse.jsonl:
    {"id", "tokens", "role", "strict", "resume", "steps", "eos", "messages"}
as `harmony inspect parse` prints it; a step equal to the one before is 0.
"""
import argparse
import json
import os
import pathlib
import random

import openai_harmony as oh
from openai_harmony import openai_harmony as native

import conversations
import streams

OUT = pathlib.Path(__file__).resolve().parents[2] / "harmonycore" / "harmony" / "testdata"
STATES = {"ExpectStart": 0, "Header": 1, "Content": 2}


def load():
    if "TIKTOKEN_ENCODINGS_BASE" not in os.environ:
        raise SystemExit("set TIKTOKEN_ENCODINGS_BASE")
    return oh.load_harmony_encoding(oh.HarmonyEncodingName.HARMONY_GPT_OSS)


def outcome(call):
    try:
        return call()
    except ValueError as error:
        return failure("ValueError", error)
    except RuntimeError as error:
        return failure("HarmonyError", error)


def failure(kind, error):
    return {"error": {"class": kind, "message": str(error)}}


def render(encoding, case):
    inner, text = encoding._inner, case["conversation_json"]
    config = None if case["auto_drop_analysis"] is None else {"auto_drop_analysis": case["auto_drop_analysis"]}
    case["completion"] = outcome(lambda: inner.render_conversation_for_completion(text, case["next_role"], config))
    case["training"] = shorten(case["completion"], outcome(lambda: inner.render_conversation_for_training(text, config)))
    case["plain"] = shorten(case["completion"], outcome(lambda: inner.render_conversation(text, config)))
    if "message_json" in case:
        case["message"] = shorten(case["completion"], outcome(lambda: inner.render(case["message_json"], None)))
    return case


def shorten(base, ids):
    if isinstance(ids, dict):
        return ids
    keep = 0
    if isinstance(base, list):
        while keep < min(len(base), len(ids)) and base[keep] == ids[keep]:
            keep += 1
    return [keep, ids[keep:]]


def observe(parser):
    state = json.loads(parser.state)["state"]
    role = parser.current_role
    return [STATES[state], role, parser.current_channel, parser.current_recipient, parser.current_content_type,
            parser.last_content_delta]


def parse(encoding, case):
    parser = native.PyStreamableParser(encoding._inner, case["role"], case["strict"])
    steps, before, failed = [], None, False

    def step(call):
        try:
            call()
        except RuntimeError as error:
            return failure("HarmonyError", error) | {"after": observe(parser)}
        return observe(parser)

    for token in case["tokens"]:
        now = step(lambda: parser.process(token))
        steps.append(0 if now == before else now)
        before, failed = now, isinstance(now, dict)
        if failed and not case["resume"]:
            break
    case["steps"] = steps
    if not failed or case["resume"]:
        case["eos"] = step(parser.process_eos)
    case["messages"] = json.loads(parser.messages)
    return case


def write(path, cases):
    with open(path, "w", encoding="utf-8") as out:
        for number, case in enumerate(cases):
            line = {"id": number} | case
            out.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--renders", type=int, default=260)
    args.add_argument("--streams", type=int, default=320)
    args.add_argument("--out", type=pathlib.Path, default=OUT)
    args = args.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    encoding = load()
    rng = random.Random(args.seed)
    write(args.out / "render.jsonl", (render(encoding, c) for c in conversations.cases(rng, args.renders)))
    write(args.out / "parse.jsonl", (parse(encoding, c) for c in streams.cases(rng, args.streams, encoding)))


if __name__ == "__main__":
    main()
