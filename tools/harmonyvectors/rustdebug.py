"""Writes harmonycore/harmony/rustdebug_table.go: the code points that Rust's debug printing of a string escapes.

They are asked of the reference itself, through the error text that quotes a header's leftovers, so the table is
that of the Rust release which built openai-harmony 0.0.8. Takes some minutes:

    tools/vectors.sh .tools/venv/oracle/bin/python tools/harmonyvectors/rustdebug.py
"""
import openai_harmony as oh

from generate import OUT
from reference import load

HEADER = '''package harmony

// Made by tools/harmonyvectors/rustdebug.py. Do not edit.

// rustEscaped lists the ranges that Rust escapes, each as two varints: the gap from the range before, and the length.
const rustEscaped = "" +
'''
MESSAGE = 200008
QUOTED = {0: "\\0", 0x22: '\\"', 0x5C: "\\\\"}
PREFIX, SUFFIX = 'unexpected tokens remaining in message header: Some("x', 'x")'


def quote(encoding, text):
    parser = oh.StreamableParser(encoding, oh.Role.ASSISTANT)
    for token in encoding.encode(f"x{text}x y z", disallowed_special=()):
        parser.process(token)
    try:
        parser.process(MESSAGE)
    except oh.HarmonyError as error:
        return str(error).removeprefix(PREFIX).removesuffix(SUFFIX)
    raise SystemExit("the header was expected to fail")


def escaped(encoding):
    for base in range(0, 0x110000, 64):
        points = [c for c in range(base, base + 64) if not 0xD800 <= c < 0xE000 and c not in (9, 10, 12, 13, 32)]
        quoted, at = quote(encoding, "".join(chr(c) + "," for c in points)), 0
        for c in points:
            bare, code = chr(c) + ",", "\\u{%x}," % c
            if c in QUOTED:
                bare = QUOTED[c] + ","
            if quoted.startswith(bare, at):
                at += len(bare)
            elif quoted.startswith(code, at):
                at += len(code)
                yield c
            else:
                raise SystemExit(f"U+{c:04X} is quoted in a way unknown to us")


def varint(n):
    out = []
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return out + [n]


def write(points):
    data, end = [], 0
    ranges = []
    for c in points:
        if ranges and c in (ranges[-1][1], 0xE000 if ranges[-1][1] == 0xD800 else -1):
            ranges[-1][1] = c + 1
        else:
            ranges.append([c, c + 1])
    for first, last in ranges:
        data += varint(first - end) + varint(last - first)
        end = last
    lines = ["\t\"" + "".join("\\x%02x" % b for b in data[i:i + 28]) + "\"" for i in range(0, len(data), 28)]
    (OUT.parent / "rustdebug_table.go").write_text(HEADER + " +\n".join(lines) + "\n")


if __name__ == "__main__":
    write(escaped(load()))
