"""Writes harmonycore/harmony/testdata/{render,parse}_*.jsonl: what the reference makes of conversations and of token streams.

    make vectors

The same arguments write the same bytes. For a larger run: --seed, --times and --out elsewhere, then
HARMONY_VECTORS=<that folder> go test ./harmonycore/harmony/. The lines are described in docs/vectors.md.
"""
import argparse
import json
import pathlib
import random

import openai_harmony as oh

import conversations
import fixed
import malformed
import probes
import reference
import streams

OUT = pathlib.Path(__file__).resolve().parents[2] / "harmonycore" / "harmony" / "testdata"
DROP = [True, True, False, None]


def asked(text, role="assistant", drop=True, alone=None):
    case = {"conversation_json": text, "next_role": role, "auto_drop_analysis": drop}
    return case if alone is None else case | {"message_json": conversations.spell(alone)}


def conversation(rng, messages, **fields):
    alone = rng.choice(messages) if rng.random() < 0.3 else None
    return asked(conversations.spell({"messages": messages} | fields), rng.choice(conversations.ROLES), rng.choice(DROP), alone)


def quirks():
    for text in fixed.SPELLED:
        yield asked(text)
    for each in fixed.FIXED:
        for drop in [True, None]:
            yield asked(conversations.spell(each), drop=drop)
    for role in ["tool", "nobody"]:
        yield asked('{"messages":[]}', role, None)


def schemas(rng):
    return asked(conversations.spell(fixed.with_schema(conversations.schema(rng))), drop=None)


def single(rng):
    m = malformed.misplaced(rng) if rng.random() < 0.5 else conversations.message(rng)
    return asked(conversations.spell({"messages": [m]}), rng.choice(conversations.ROLES), None, m)


def several(rng):
    messages = [conversations.message(rng) for _ in range(rng.choice([2, 3, 4, 5, 7]))]
    return conversation(rng, messages, **({"extra": conversations.anything(rng)} if rng.random() < 0.1 else {}))


def turns(rng):
    """Turns as a model and its tools make them, for what is dropped of the earlier ones."""
    messages = []
    for _ in range(rng.randrange(1, 5)):
        messages.append(fixed.msg("user", "q"))
        for _ in range(rng.randrange(5)):
            to = rng.choice(["functions.f", "browser.open"])
            messages += rng.choice([[fixed.THOUGHT], [fixed.msg("assistant", "{}", recipient=to, **rng.choice([fixed.THINK, {"channel": "commentary"}]))],
                                    [fixed.msg("tool", "r", name=to, recipient="assistant", **rng.choice([fixed.THINK, {"channel": "commentary"}, {}]))],
                                    [fixed.msg("assistant", "p", channel="commentary")]])
        messages += rng.choice([[fixed.SAID], [fixed.SAID], [fixed.SAID, fixed.THOUGHT], [fixed.THOUGHT], []])
    return conversation(rng, messages)


def broken(rng):
    if rng.random() < 0.02:
        return asked('{"messages":[]}', rng.choice(["nobody", "Assistant", ""]))
    if rng.random() < 0.05:
        return asked('{"messages":[]}') | {"message_json": malformed.alone(rng)}
    return asked(malformed.text(rng), drop=rng.choice(DROP))


def prompts(rng):
    """System messages with the tools that the model was trained on."""
    builtin = {"browser": oh.ToolNamespaceConfig.browser(), "python": oh.ToolNamespaceConfig.python()}
    spaces = {name: json.loads(builtin[name].model_dump_json()) for name in rng.choice([["browser"], ["python"], ["python", "browser"]])}
    system = conversations.system(rng) | {"tools": spaces}
    return conversation(rng, [fixed.msg("system", [system]), fixed.msg("developer", [conversations.developer(rng)]), fixed.msg("user", "q")])


def reports(make):
    """What models wrote, from reports.txt."""
    for line in (OUT / "reports.txt").read_text(encoding="utf-8").splitlines():
        field, _, value = line.partition(" ")
        if field in ("raw", "ids"):
            said = json.loads(value)
            yield streams.case(make.marked(said) if field == "raw" else said, "assistant", True, True)


def write(path, cases):
    """A case that was there already is left out."""
    seen = set()
    with open(path, "w", encoding="utf-8") as out:
        for case in cases:
            line = reference.spelled(case)
            if line not in seen:
                out.write(line + "\n")
            seen.add(line)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--times", type=float, default=1, help="how many times as many random ones")
    args.add_argument("--out", type=pathlib.Path, default=OUT)
    args = args.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    encoding = reference.load()

    def renders(name, count, make):
        group = (make(random.Random(f"{args.seed} {name} {i}")) for i in range(int(count * args.times)))
        write(args.out / f"render_{name}.jsonl", (reference.render(encoding, c) for c in group))

    def parses(name, count, case, prepare=lambda make: make):
        make = prepare(streams.Maker(random.Random(f"{args.seed} {name}"), encoding))
        write(args.out / f"parse_{name}.jsonl", (reference.parse(encoding, case(make)) for _ in range(int(count * args.times))))

    write(args.out / "render_quirks.jsonl", (reference.render(encoding, c) for c in quirks()))
    renders("schemas", 800, schemas)
    renders("messages", 450, single)
    renders("conversations", 350, several)
    renders("turns", 250, turns)
    renders("malformed", 350, broken)
    renders("prompts", 16, prompts)
    make = streams.Maker(random.Random(args.seed), encoding)
    write(args.out / "parse_quirks.jsonl", (reference.parse(encoding, c) for c in streams.quirks(make)))
    write(args.out / "parse_reports.jsonl", (reference.parse(encoding, c) for c in reports(make)))
    parses("tidy", 420, streams.tidy)
    parses("broken", 820, streams.broken)
    parses("probes", 800, lambda prober: prober.stream(2), probes.Prober)


if __name__ == "__main__":
    main()
