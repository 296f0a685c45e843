"""Writes which texts the grammars of harmonycore/lark/testdata allow, by the library lark. With -check it only compares.

    vectors.py [-check] FOLDER

Each file has a grammar and seeds: texts as JSON. The cases are the seeds and texts made of them by small changes. Those
of patch.txt are made here: 200 patches that Lark takes and 200 that it does not.

The parser is Earley's with the lexer dynamic_complete: a terminal may match any of its texts, not only the longest one.
"""

import json
import pathlib
import random
import sys

import lark

# Lark takes no terminal that may be empty. These mean the same.
NOT_EMPTY = {"/(.*)/": "/(.+)/?", "/[+#]?[!?]{0,2}/": "(/[+#][!?]{0,2}/ | /[!?]{1,2}/)?"}
MUTATIONS = 7
PATCHES = 200


def read(path):
    parts = {}
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("-- ") and line.endswith(" --\n"):
            parts[name := line[3:-4]] = ""
        else:
            parts[name] += line
    return parts["grammar"], [json.loads(line) for line in parts["seeds"].splitlines()]


class Oracle:
    def __init__(self, grammar):
        for empty, filled in NOT_EMPTY.items():
            grammar = grammar.replace(empty, filled)
        self.parsers = [lark.Lark(grammar, parser="earley", lexer=lexer) for lexer in ("dynamic_complete", "dynamic")]

    def allows(self, text, lexer=0):
        try:
            self.parsers[lexer].parse(text)
            return True
        except lark.exceptions.UnexpectedInput:
            return False


def mutated(chance, text, alphabet):
    at = chance.randrange(len(text) + 1)
    kind = chance.randrange(5)
    rest = text[at:]
    if kind == 0:
        return text[:at] + rest[1:]
    if kind == 1:
        return text[:at] + chance.choice(alphabet) + rest
    if kind == 2:
        return text[:at] + chance.choice(alphabet) + rest[1:]
    if kind == 3:
        return text[:at] + rest[:1] + rest
    return text[:at] + rest[1:2] + rest[:1] + rest[2:]


def patch(chance):
    def word():
        return "".join(chance.choice("abc/.é 字-+*@\t\\\"'") for _ in range(chance.randrange(1, 7)))

    def content():
        return chance.choice(["", word(), word() + " " + word(), "*** End Patch", "@@", "<|end|>"])

    text = "*** Begin Patch\n"
    for _ in range(chance.randrange(1, 4)):
        kind = chance.randrange(3)
        path = chance.choice([word(), "src/main.go", "a b.txt", "*** Add File: x"])
        if kind == 0:
            text += f"*** Add File: {path}\n" + "".join(f"+{content()}\n" for _ in range(chance.randrange(1, 4)))
        elif kind == 1:
            text += f"*** Delete File: {path}\n"
        else:
            text += f"*** Update File: {path}\n"
            if chance.random() < 0.3:
                text += f"*** Move to: {word()}\n"
            if chance.random() < 0.9:
                for _ in range(chance.randrange(1, 5)):
                    text += chance.choice(["@@\n", f"@@ {word()}\n", f"+{content()}\n", f"-{content()}\n", f" {content()}\n"])
                if chance.random() < 0.2:
                    text += "*** End of File\n"
    return text + "*** End Patch" + chance.choice(["", "\n"])


def broken(chance, text):
    lines = text.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    kind = chance.randrange(6)
    if kind == 0:
        del lines[at]
    elif kind == 1:
        lines.insert(at, chance.choice(["\n", "x\n", "*** End Patch\n", "*** Update File: \n", "@@x\n", "*** Begin Patch\n"]))
    elif kind == 2:
        lines[at] = lines[at][1:]
    elif kind == 3:
        return text[: chance.randrange(len(text))]
    elif kind == 4:
        return text + chance.choice(["\n", " ", "x", "*** End Patch\n"])
    else:
        return mutated(chance, text, "*+- @\n\rx")
    return "".join(lines)


def patches(chance, oracle):
    right, wrong = set(), set()
    while len(right) < PATCHES or len(wrong) < PATCHES:
        text = patch(chance)
        assert oracle.allows(text), text
        if len(right) < PATCHES:
            right.add(text)
        text = broken(chance, text)
        if len(wrong) < PATCHES and not oracle.allows(text):
            wrong.add(text)
    for text in right | wrong:
        assert oracle.allows(text) == oracle.allows(text, 1), text
    return sorted(right | wrong)


def cases(name, seeds, oracle):
    chance = random.Random(name)
    if name == "patch":
        return patches(chance, oracle)
    alphabet = sorted(set("".join(seeds)) | set(" \nx1"))
    texts = list(dict.fromkeys(seeds + [mutated(chance, s, alphabet) for s in seeds for _ in range(MUTATIONS)]))
    return texts


def main():
    check = sys.argv[1] == "-check"
    failed = False
    for path in sorted(pathlib.Path(sys.argv[-1]).glob("*.txt")):
        grammar, seeds = read(path)
        oracle = Oracle(grammar)
        text = f"-- grammar --\n{grammar}-- seeds --\n" + "".join(json.dumps(s) + "\n" for s in seeds) + "-- cases --\n"
        for case in cases(path.stem, seeds, oracle):
            text += ("+" if oracle.allows(case) else "-") + json.dumps(case) + "\n"
        if not check:
            path.write_text(text, encoding="utf-8")
        elif path.read_text(encoding="utf-8") != text:
            print(f"{path.name} differs from what lark {lark.__version__} says")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
