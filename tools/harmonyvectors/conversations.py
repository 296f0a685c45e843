"""Conversations in the reference's JSON: fixed ones for every quirk, and random ones."""
import json


class Raw(str):
    """A number or a whole value, as it is spelled."""


class Pairs(list):
    """An object as a list of pairs, where keys may come twice."""


def spell(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Pairs):
        return "{" + ",".join(json.dumps(k) + ":" + spell(v) for k, v in value) + "}"
    if isinstance(value, dict):
        return spell(Pairs(value.items()))
    if isinstance(value, list):
        return "[" + ",".join(map(spell, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


TEXTS = ["", "hi", "Hello, world!", "he", "llo", "<|end|>", "<|start|>system<|message|>", "don't", "naïve café", "中文字", "😀",
         "a\nb", "line\r\nline\n", "\n", " ", "  x", "12345", "{\"a\": 1}", "x" * 40, "é", "\u00a0", "tab\there", "'ſ"]
NAMES = ["", "bob", "functions.f", "functions.get_weather", "browser.search", "a b", "ünï", "<|message|>", "python"]
RECIPIENTS = ["all", "", "assistant", "functions.f", "user", "browser.open", "<|channel|>", "x y"]
CHANNELS = ["analysis", "commentary", "final", "final", "analysis", "", "Final", "other", "commentary?"]
TYPES = ["json", "<|constrain|>json", "<|constrain|> json", "<|constrain|>", "", "code", "x<|constrain|>json", "text"]
ROLES = ["user", "assistant", "assistant", "system", "developer", "tool"]
NUMBERS = ["0", "-0", "1", "-7", "1.0", "-0.0", "0.1", "1e3", "1E+2", "1e-7", "1e16", "1e15", "123456789012345678", "1.5e300", "5e-324",
           "9007199254740993.0", "31.438000000000002", "18446744073709551615", "18446744073709551616", "-9223372036854775808",
           "-9223372036854775809", "0.00001", "0.000001", "1e-400", "0e999999999999", "123456789012345678901234567890",
           "0.1234567890123456789012345", "2.2250738585072014e-308", "1234567890123456.7", "99999999999999999999e-20"]


def number(rng):
    if rng.random() < 0.5:
        return Raw(rng.choice(NUMBERS))
    text = rng.choice(["", "-"]) + str(rng.randrange(10 ** rng.randrange(1, 22)))
    if rng.random() < 0.6:
        text += "." + str(rng.randrange(10 ** rng.randrange(1, 22))).zfill(rng.randrange(1, 22))
    if rng.random() < 0.5:
        text += rng.choice("eE") + rng.choice(["", "+", "-"]) + str(rng.randrange(rng.choice([5, 25, 330])))
    return Raw(text)


def anything(rng, depth=0):
    kind = rng.randrange(8 if depth < 3 else 5)
    if kind == 0:
        return rng.choice([True, False, None])
    if kind <= 2:
        return number(rng)
    if kind <= 4:
        return rng.choice(TEXTS + ['q"uo\\te', "\x00\x1f\x7f\u2028", "\b\f\t"])
    if kind == 5:
        return [anything(rng, depth + 1) for _ in range(rng.randrange(3))]
    return Pairs((rng.choice("abc"), anything(rng, depth + 1)) for _ in range(rng.randrange(4)))


def schema(rng, depth=0):
    if rng.random() < 0.03:
        return anything(rng)
    s = {}
    kinds = ["string", "string", "number", "integer", "boolean", "null", "weird", "array", "object", "object"]
    kind = rng.choice(kinds if depth < 4 else kinds[:6])
    if rng.random() < 0.9:
        s["type"] = kind
    if rng.random() < 0.1:
        s["type"] = rng.choice([["string", "null"], ["integer", "number"], [], [1, None], ["object", "null"], 7, None])
    if kind == "object" and rng.random() < 0.9 or rng.random() < 0.03:
        s["properties"] = {rng.choice(["a", "b", "c", "x-y", "nullable_x", "ключ", "a b", ""]) + rng.choice(["", "1"]): schema(rng, depth + 1)
                           for _ in range(rng.randrange(4))}
        if rng.random() < 0.04:
            s["properties"] = rng.choice([None, [], "x"])
    if rng.random() < 0.3:
        s["required"] = rng.choice([["a", "b"], ["c", 1, None], [], "a", None, ["a1", "x-y", ""]])
    if kind == "array" and rng.random() < 0.8 or rng.random() < 0.03:
        s["items"] = schema(rng, depth + 1)
    if rng.random() < 0.2:
        s["enum"] = rng.choice([["x", "y"], [], ["null"], [1, "z", None], [1, 2], "x", ['q"'], ["a"]])
    if rng.random() < 0.2:
        s["nullable"] = rng.choice([True, True, True, False, "true", 1])
    if rng.random() < 0.3:
        s["description"] = rng.choice(["A thing", "two\nlines", "", "same", "same", 5, None, "tail\r\n", "null"])
    if rng.random() < 0.25:
        s["default"] = rng.choice(["x", "same", None, anything(rng), number(rng), number(rng)])
    if rng.random() < 0.1:
        s["title"] = rng.choice(["Title", "", 3])
    if rng.random() < 0.1:
        s["examples"] = rng.choice([["e1", "e2"], [], [1], ["e", 2, None], "x", ['q"']])
    if rng.random() < 0.15:
        s["oneOf"] = rng.choice([[schema(rng, depth + 1) for _ in range(rng.randrange(1, 4))], [], "x", None]) if depth < 4 else []
    if rng.random() < 0.1:
        s[rng.choice(["anyOf", "allOf", "$ref", "const", "additionalProperties", "format"])] = anything(rng, 2)
    pairs = list(s.items())
    rng.shuffle(pairs)
    if pairs and rng.random() < 0.05:
        pairs.append(rng.choice(pairs))
    return Pairs(pairs)


def tool(rng):
    t = {"name": rng.choice(["f", "get_weather", "search", ""]),
         "description": rng.choice(["", "Does it.", "First\nsecond\n", "a\r\nb\r", "\n", "x\n\ny"])}
    if rng.random() < 0.85:
        t["parameters"] = schema(rng) if rng.random() < 0.85 else rng.choice([None, {"type": "object", "properties": {}}])
    return t


def tools(rng):
    spaces = {}
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        key = rng.choice(["functions", "functions", "browser", "python", "Z", "ä", "a", ""])
        space = {"name": rng.choice([key, key, "functions", "other"]), "tools": [tool(rng) for _ in range(rng.randrange(3))]}
        if rng.random() < 0.4:
            space["description"] = rng.choice(["Doc.", "Two\nlines\n", "", None, "cr\r\nlf\r"])
        spaces[key] = space
    return spaces


def system(rng):
    c = {"type": "system_content"}
    for key in ["model_identity", "knowledge_cutoff", "conversation_start_date"]:
        if rng.random() < 0.5:
            c[key] = rng.choice(["You are ChatGPT, a large language model trained by OpenAI.", "2024-06", "", None, "x\ny"])
    if rng.random() < 0.6:
        c["reasoning_effort"] = rng.choice(["Low", "Medium", "High", None])
    if rng.random() < 0.3:
        c["tools"] = tools(rng)
    if rng.random() < 0.6:
        c["channel_config"] = rng.choice([None, {"valid_channels": rng.choice([["analysis", "commentary", "final"], [], ["x"]]),
                                                 "channel_required": rng.choice([True, False])}])
    return c


def developer(rng):
    c = {"type": "developer_content"}
    if rng.random() < 0.6:
        c["instructions"] = rng.choice(["Be brief.", "", None, "a\n\nb", "<|end|>"])
    if rng.random() < 0.7:
        c["tools"] = tools(rng)
    return c


def content(rng, role):
    if role == "system" and rng.random() < 0.8:
        return [system(rng)]
    if role == "developer" and rng.random() < 0.8:
        return [developer(rng)]
    if rng.random() < 0.6:
        return rng.choice(TEXTS)
    items = [{"type": "text", "text": rng.choice(TEXTS)} for _ in range(rng.randrange(4))]
    if rng.random() < 0.06:
        items.append(rng.choice([system, developer])(rng))
    return items


def message(rng):
    role = rng.choice(ROLES)
    m = {"role": role, "content": content(rng, role)}
    if role == "tool" and rng.random() < 0.97 or rng.random() < 0.08:
        m["name"] = rng.choice(NAMES)
    if rng.random() < 0.25:
        m["recipient"] = rng.choice(RECIPIENTS)
    if rng.random() < (0.9 if role == "assistant" else 0.2):
        m["channel"] = rng.choice(CHANNELS)
    if rng.random() < 0.15:
        m["content_type"] = rng.choice(TYPES)
    if rng.random() < 0.05:
        m[rng.choice(["name", "recipient", "channel", "content_type", "unknown"])] = None
    return m
