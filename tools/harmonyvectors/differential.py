"""Prints random token streams, or conversations, with what a reference makes of them, for tools/differential.

    differential.py streams|conversations --seed N --count N

One line each, as in docs/vectors.md. The same arguments print the same lines. tools/differential runs it twice: with
openai-harmony, and with oss-harmony, which is a module openai_harmony too.
"""
import argparse
import random
import sys

import generate
import probes
import reference
import streams


def token_streams(encoding, rng, count):
    make = streams.Maker(rng, encoding)
    prober = probes.Prober(make)
    for _ in range(count):
        kind = rng.random()
        case = streams.tidy(make) if kind < 0.15 else streams.broken(make) if kind < 0.5 else prober.stream(6)
        yield reference.parse(encoding, case)


def conversations(encoding, rng, count):
    kinds = [generate.several] * 4 + [generate.schemas] * 3 + [generate.single] * 3 + [generate.turns] * 2 + [generate.broken] * 8
    for _ in range(count):
        yield reference.render(encoding, (generate.prompts if rng.random() < 0.005 else rng.choice(kinds))(rng))


def main():
    args = argparse.ArgumentParser()
    args.add_argument("what", choices=["streams", "conversations"])
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--count", type=int, default=1000)
    args = args.parse_args()
    make = {"streams": token_streams, "conversations": conversations}[args.what]
    out = sys.stdout
    for case in make(reference.load(), random.Random(f"{args.seed} {args.what}"), args.count):
        out.write(reference.spelled(case) + "\n")


if __name__ == "__main__":
    main()
