"""Texts that are almost conversations: JSON that is broken, or whose values are of the wrong kind."""
from conversations import Pairs, Raw, content, message, spell

FIELDS = ["messages", "role", "content", "type", "text", "name", "tools", "description", "valid_channels", "channel_required", "recipient", "channel"]
VALUES = [Raw("5"), Raw("null"), Raw("true"), "x", Raw("-1.5"), Raw("{}")]
# What is put where a value was: none of them is a value.
BROKEN = ["tru", "nul", "falsy", "01", "-", "1.", "1e", ".5", "1e999", "-1e400", '"\\x"', '"\\u12"', '"\\u12G4"', '"\\ud800"', '"\\ud800\\u0041"',
          '"\\udc00"', '"a\nb"', '"\t"', '"\x00"', "'x'", "NaN", "+1", "]", "}", "", "1,", '"x":', '"a', "[", "{", '{"a"}', "{a:1}", "[1,]", '{"a":1,}']
# What no mutation of a conversation finds often, X being a whole one.
RARE = ["[]", "[]", "null", "{}", "[X", "X,", "{%s,}", '{"messages":[%s,]}', '{"messages":[', '{"messages":[%s', '{"messages":', '{"messages":[%s %s]}',
        '{"messages":[{"role":{},"content":"x"}]}', '{"messages":[{"role":{"user":1,"tool":2},"content":"x"}]}', '{"messages":[{"role":"user","content":"\\ud83d',
        '{"messages":[{"role":"user","content":"\\ud83d\\u0041"}]}', '{"messages":[{"role":"user","content":"x","z":-1e999}]}', '{"messages":[%s]',
        '{"messages":[{"role":"user","content":"\\ud800"}]}', '{"messages":[{"role":"user","content":"\\ud83d\\n"}]}']
TAILS = ["x", ",", "]", "}", "{}", "1", '"']


def deep(rng):
    n = rng.randrange(100, 160)
    return rng.choice([Raw("[" * n + "]" * n), Raw('{"a":' * n + "1" + "}" * n)])


def places(value, path=()):
    """Every field of every object, as the list of pairs that holds it and its place there."""
    if isinstance(value, Pairs):
        for i, (_, inner) in enumerate(value):
            yield value, i
            yield from places(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from places(inner)


def pairs(value):
    if isinstance(value, dict):
        return Pairs((k, pairs(v)) for k, v in value.items())
    if isinstance(value, Pairs):
        return Pairs((k, pairs(v)) for k, v in value)
    return [pairs(v) for v in value] if isinstance(value, list) else value


def change(rng, holder, at):
    key, value = holder[at]
    kind = rng.randrange(8)
    if kind == 0:
        del holder[at]
    elif kind == 1:
        holder.insert(rng.randrange(len(holder) + 1), (key, value))
    elif kind == 2:
        holder[at] = (rng.choice(FIELDS), value)
    elif kind == 3:
        holder[at] = (key, rng.choice(VALUES))
    elif kind == 4:
        holder[at] = (key, deep(rng)) if rng.random() < 0.7 else ("extra", deep(rng))
    elif kind == 5 and isinstance(value, str):
        holder[at] = (key, type(value)(value + "x"))
    else:
        holder[at] = (key, Raw(rng.choice(BROKEN)))


def text(rng):
    tree = pairs({"messages": [message(rng) for _ in range(rng.choice([1, 1, 2]))]})
    kind = rng.randrange(13)
    if kind >= 10:
        each = spell(message(rng))
        return rng.choice(RARE).replace("X", '{"messages":[%s]}').replace("%s", each)
    if kind < 6:
        change(rng, *rng.choice(list(places(tree))))
        return spell(tree)
    out = spell(tree)
    at = rng.randrange(len(out) + 1)
    if kind == 6:
        return out[:at]
    if kind == 7:
        return out + rng.choice(["", " "]) + rng.choice(TAILS)
    if kind == 8:
        return out[:at] + rng.choice(",:{}[]\"\\x1 \t\x01") + out[at:]
    return out[:at] + out[at + 1:]


def alone(rng):
    """One message that is none. Deep ones are left out: what stands around a message counts in ours."""
    while True:
        tree = pairs(message(rng))
        change(rng, *rng.choice(list(places(tree))))
        out = spell(tree)
        if "[" * 50 not in out and '{"a":' * 50 not in out:
            return out


def misplaced(rng):
    """System and developer content where it may not stand, and tools without a name."""
    m = message(rng)
    role = rng.choice(["user", "assistant", "tool", "system", "developer"])
    m |= {"role": role, "content": content(rng, rng.choice(["system", "developer"]))}
    if rng.random() < 0.7:
        m["name"] = "functions.f"
    return m
