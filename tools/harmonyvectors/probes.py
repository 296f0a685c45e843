"""Token streams that lead the parser into each of its states and give it there a token of each class.

tools/differential counts what was reached; the lists there and here are about the same.
"""
from reference import EOS
from streams import CALL, CHANNEL, CONSTRAIN, END, MESSAGE, RETURN, ROLES, START, UNKNOWN, case

CONTROL = [START, END, RETURN, CALL, CHANNEL, MESSAGE, CONSTRAIN]
ROLE_WORDS = ["assistant", "user", "system", "developer", "tool", " assistant"]
CHANNELS = ["final", "analysis", "commentary", " final"]
TYPES = ["json", " json", "code", " code"]
MARKS_OF_RECIPIENTS = ["to", " to", "=", "=\""]
WORDS = ["Hello", "x", " the", " answer", "functions", ".f", "browser", "a", "Sorry"] + ROLE_WORDS + CHANNELS + TYPES + MARKS_OF_RECIPIENTS
SPACES = [" ", "  ", "\n", "\n\n", "\t", "\r\n", "\f"]
WIDE = ["\u00a0", "\u3000", "\u2003", "\u000b", "\u0085", "\u2028"]
SIGNS = ["{", "}", "{\"", "\":", ",", ".", "?", "!", "\"", "\\", "(", "…"]
MARKS = ["<", "|", ">", "<|", "|>", "</", ">>", "||"]
FOREIGN = ["é", "中文", "я", "ß", "😀", "ü", " été", "日本", "한", "ع"]
NUMBERS = ["1", "12", "123", "007", "٣"]


class Prober:
    def __init__(self, make):
        self.make, self.rng = make, make.rng

        def single(texts):
            return [ids[0] for ids in map(make.plain, texts) if len(ids) == 1]

        begun, rest = [], []
        for char in "🜁𝒳ᚠ\u1000\u2eb0\U00020000\u0f40\u0a85":
            ids = make.plain(char)
            if len(ids) > 1:
                begun.append(ids[0])
                rest += ids[1:]
        self.begun = begun
        reserved = list(range(200013, 201089)) + [200000, 200001, 200004, 200009]
        special = [[t] for t in CONTROL] + [[EOS], [199998, 199999], reserved, UNKNOWN]
        pieces = [begun, rest + list(range(94, 256))]
        words = map(single, [WORDS, ROLE_WORDS, CHANNELS, TYPES, MARKS_OF_RECIPIENTS, SPACES, WIDE, SIGNS, MARKS, FOREIGN, NUMBERS])
        self.classes = special + pieces + [list(range(199998)), *words]
        assert all(self.classes)

    def token(self):
        return self.rng.choice(self.rng.choice(self.classes))

    def word(self):
        return self.rng.choice([lambda: [self.token()], lambda: self.make.plain(self.rng.choice(ROLES + WORDS)),
                                lambda: [CHANNEL] + self.make.plain("final")])()

    def closer(self):
        return self.rng.choice([[], [MESSAGE], [END], [RETURN], [CALL], [EOS], [MESSAGE, END], [MESSAGE] + self.make.text() + [END]])

    def content(self):
        """Into content, from between messages."""
        return [START] + self.make.plain("user") + [MESSAGE] + self.rng.choice([[], [self.rng.choice(self.begun)], [self.rng.choice(UNKNOWN)],
                                                                                self.make.plain("Hello")])

    def header(self):
        return [START] + self.rng.choice([[], self.word()])

    def pending(self, longest):
        """With a role given in advance, which outlives every header that fails."""
        rng, out = self.rng, []
        for _ in range(rng.randrange(longest)):
            out += rng.choice([[], self.word()]) + rng.choice([[self.token()], []]) + self.make.plain(" x y z") + [MESSAGE]
            out += [self.token() for _ in range(rng.randrange(3))]
            out += rng.choice([[START], [START], []])
        return out + rng.choice([[], self.word()]) + [self.token()] + self.closer()

    def stream(self, longest):
        rng = self.rng
        role = rng.choice([None, rng.choice(ROLES + ["tool"]), "assistant"])
        out = [] if role is None else self.pending(longest)
        for _ in range(rng.randrange(1, longest + 1)):
            out += [MESSAGE, END] + rng.choice([lambda: [], self.header, self.content, self.content])() + [self.token()] + self.closer()
        return case(out, role, rng.random() < 0.5, True)
