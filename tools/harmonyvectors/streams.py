"""Token streams: fixed ones for every quirk, and random ones near the grammar."""
from reference import EOS

START, END, RETURN, CALL, CHANNEL, MESSAGE, CONSTRAIN = 200006, 200007, 200002, 200012, 200005, 200008, 200003

# The quirks of docs/harmony-format.md#quirks, with the role that is given in advance.
QUIRKS = [
    ("assistant", "<|channel|>final <|constrain|>json<|message|>{}<|return|>"),
    ("assistant", "<|channel|>final json<|message|>{}<|return|>"),
    ("assistant", " to=functions.f<|channel|>commentary <|constrain|> json<|message|>{}<|call|>"),
    ("assistant", "<|channel|>commentary <|constrain|>json to=functions.f<|message|>{}<|call|>"),
    ("assistant", "<|channel|>commentary to=a to=b<|message|>{}<|call|>"),
    ("assistant", "<|channel|>commentary to= f json<|message|>{}<|call|>"),
    ("assistant", "<|channel|>final<|channel|>final<|message|>x<|end|>"),
    ("assistant", "<|start|>assistant<|channel|>final<|message|>x<|end|>"),
    (None, "<|start|>assistant:bob<|message|>x<|end|>"),
    (None, "<|start|>assistant:bob to=user<|message|>x<|end|>"),
    (None, "<|start|>functions.f<|channel|>commentary<|message|>x<|end|>"),
    (None, "<|start|>functions.f to=assistant<|channel|>commentary<|message|>x<|end|>"),
    (None, "<|start|>tool to=assistant<|message|>x<|end|>"),
    ("tool", "functions.f to=assistant<|message|>x<|end|>"),
    ("assistant", "<|channel|>final<|message|>x<|end|><|end|>"),
    ("assistant", "<|channel|>final<|message|>x<|return|><|return|><|call|>"),
    ("assistant", "<|channel|>final<|message|>x<|return|>text after it"),
    ("assistant", "<|channel|>analysis<|message|>x<|start|>assistant<|channel|>final<|message|>y<|return|>"),
    ("assistant", "x y z<|message|><|start|>user<|message|>hi<|end|><|start|>user<|message|>ho<|end|>"),
    ("assistant", "Sorry, I cannot.<|end|><|start|>assistant<|channel|>final<|message|>x<|return|>"),
    ("assistant", "<|channel|>commentary to=functions.f <|constrain|>json{}<|call|><|start|>assistant Sorry<|end|>"),
    ("assistant", "<|channel|>commentary<|constrain|>json to=f<|message|>x<|end|>"),
    ("assistant", "<|channel|>commentaryjson<|message|>x<|end|>"),
    ("assistant", "<|channel|><|message|>x<|end|>"),
    ("assistant", "<|channel|> final<|message|>x<|end|>"),
    (None, "<|start|><|message|>x"), (None, "<|start|>nobody<|message|>x"), (None, "<|start|>to=x<|message|>x"),
    (None, "<|start|>Assistant x<|message|>x"), (None, ""), ("assistant", ""), ("user", "<|message|>"),
    ("assistant", "assistant assistant<|message|>x<|end|>"), ("assistant", "a\"b\\c\u00e9\u0301\u200b\u0378 y z<|message|>"),
    ("assistant", "a\u000bb\u00a0c<|message|>x<|end|>"), ("assistant", "\u00a0\u3000to=x\u2003<|message|>x<|end|>"),
    ("assistant", "<|channel|>final\u00a0<|message|>x<|end|>"), ("assistant", "<|channel|>fi<nal<|message|>x<|end|>"),
    ("assistant", "<|channel|>final<|message|>a<|channel|><|constrain|><|message|><|endoftext|><|reserved_200000|>b<|end|>"),
]
TEXTS = ["Hello", " there", "{\"a\":", "1}", "é", "😀", "中文", "\n", "<|end|>", " json", "json", "x", " code", " ", "\u00a0", "🜁𝒳", "\u0301"]
WORDS = [" to=", "to=", " to=functions.f", "functions.f", "assistant", " assistant", "user", "tool", "system", "final", "analysis",
         "commentary", "all", " json", "<|constrain|>json", "<", "?", " \t", "\u3000", "\u000b"]
SPECIAL = [START, END, RETURN, CALL, CHANNEL, MESSAGE, CONSTRAIN, 199998, 199999, 200000, 200018, 201088]
UNKNOWN = [201089, 250000, 4294967295]
ROLES = ["assistant", "user", "system", "developer"]


class Maker:
    def __init__(self, rng, encoding):
        self.rng = rng
        self.plain = lambda text: encoding.encode(text, disallowed_special=())
        self.marked = lambda text: encoding.encode(text, allowed_special="all")
        # Single tokens that are not whole characters: the bytes of rare ones.
        self.broken = [t for c in "🜁𝒳\U000e0001ᚠ\u1000" for t in self.plain(c)] + list(range(94, 256))

    def text(self):
        rng, out = self.rng, []
        for _ in range(rng.randrange(5)):
            kind = rng.random()
            if kind < 0.6:
                out += self.plain(rng.choice(TEXTS))
            elif kind < 0.85:
                out.append(rng.choice(self.broken))
            elif kind < 0.9:
                out.append(rng.choice(UNKNOWN))
            else:
                out.append(rng.randrange(201089))
        return out

    def field(self):
        rng = self.rng
        return rng.choice([
            lambda: [CHANNEL] + self.plain(rng.choice(["analysis", "commentary", "final", "", "other", "final "])),
            lambda: self.plain(rng.choice([" to=functions.f", " to=user", " to=", "to=x"])),
            lambda: self.plain(rng.choice([" json", " code", " "])),
            lambda: [CONSTRAIN] + self.plain(rng.choice(["json", " json", ""])),
            lambda: self.plain(rng.choice(WORDS)),
        ])()

    def message(self, began):
        rng, out = self.rng, []
        if not began:
            out.append(START)
            out += self.plain(rng.choice(ROLES + ["functions.f to=assistant", "tool", "nobody", "functions.f"]))
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            out += self.field()
        return out + [MESSAGE] + self.text() + [rng.choice([END, RETURN, CALL, END])]

    def tidy(self):
        """A turn of the assistant as a well-behaved model writes it."""
        rng, out = self.rng, []
        for i in range(rng.choice([1, 2, 3])):
            out += [] if i == 0 else [START] + self.plain("assistant")
            to, typ, end = rng.choice([("", "", END), ("", "", RETURN), (" to=functions.f", " json", CALL), (" to=browser.open", "C", CALL)])
            channel = [CHANNEL] + self.plain(rng.choice(["analysis", "commentary", "final"]))
            to = self.plain(to)
            out += rng.choice([to + channel, channel + to])
            out += self.plain(" ") + [CONSTRAIN] + self.plain("json") if typ == "C" else self.plain(typ)
            out.append(MESSAGE)
            for _ in range(rng.randrange(6)):
                out += self.plain(rng.choice(TEXTS))
            out.append(end)
        return out

    def stream(self, role):
        rng, out = self.rng, []
        for i in range(rng.choice([1, 1, 2, 3])):
            out += self.message(i == 0 and role is not None)
        for _ in range(rng.choice([0, 0, 0, 1, 1, 2, 4])):
            at = rng.randrange(len(out) + 1)
            change = rng.randrange(5)
            if change == 0:
                del out[at:at + rng.randrange(1, 3)]
            elif change == 1:
                out.insert(at, rng.choice(SPECIAL))
            elif change == 2:
                out[at:at] = self.plain(rng.choice(WORDS + TEXTS))
            elif change == 3:
                out.insert(at, rng.choice(self.broken + UNKNOWN))
            else:
                del out[at:]
        return out


def quirks(make):
    for role, text in QUIRKS:
        for strict in [True, False]:
            yield case(make.marked(text), role, strict, True)


def case(tokens, role, strict, resume):
    return {"tokens": tokens, "role": role, "strict": strict, "resume": resume}


def tidy(make):
    return case(make.tidy(), "assistant", True, False)


def broken(make):
    """A stream near the grammar, sometimes told of its end before it ends."""
    rng = make.rng
    role = rng.choice([None, "assistant", "assistant", rng.choice(ROLES + ["tool"])])
    tokens = make.stream(role)
    if rng.random() < 0.1:
        tokens.insert(rng.randrange(len(tokens) + 1), EOS)
    return case(tokens, role, rng.random() < 0.5, rng.random() < 0.6)
