"""peers.py NAME VOCABULARY: a worker of `make bench-core` (docs/bench-core.md) for a peer that is a Python package.

Reads a line of JSON for each turn and answers with one, as bench/core/worker does. VOCABULARY is
o200k_base.tiktoken.
"""
import array
import json
import os
import sys
import time
import zlib

CPU = time.process_time_ns  # of all threads, from the start of the process


def resident():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class Tiktoken:
    def __init__(self):
        import tiktoken
        import tiktoken.load
        import tiktoken_ext.openai_public as public
        self.module, self.public = tiktoken, public

    def load(self, vocabulary):
        read = self.module.load.load_tiktoken_bpe
        self.public.load_tiktoken_bpe = lambda *_, **__: read(vocabulary)
        self.encode = self.module.Encoding(**self.public.o200k_base()).encode_ordinary


class Gigatoken:
    def __init__(self):
        import gigatoken
        self.module = gigatoken

    def load(self, vocabulary):
        self.encode = self.module.Tokenizer.from_tiktoken(vocabulary).encode


class OpenaiHarmony:
    def __init__(self):
        import openai_harmony
        self.module = openai_harmony

    def load(self, vocabulary):
        os.environ["TIKTOKEN_ENCODINGS_BASE"] = os.path.dirname(vocabulary)
        self.harmony = self.module.load_harmony_encoding(self.module.HarmonyEncodingName.HARMONY_GPT_OSS)

    def encode(self, text):
        return self.harmony.encode(text, disallowed_special=())

    def render(self, conversation):
        return self.harmony.render_conversation_for_completion(conversation, self.module.Role.ASSISTANT)

    def strict(self, tokens):
        parser = self.module.StreamableParser(self.harmony, role=self.module.Role.ASSISTANT)
        for token in tokens:
            parser.process(token)
            parser.last_content_delta
        parser.process_eos()
        return parser.messages


PEERS = {"tiktoken": Tiktoken, "gigatoken": Gigatoken, "openai-harmony": OpenaiHarmony}


def work(peer, op, file):
    """A function that does the operation once."""
    with open(file, "rb") as opened:
        data = opened.read()
    if op == "encode":
        texts = data.decode().split("\0")
        return lambda: [peer.encode(text) for text in texts]
    if op == "render":
        conversation = peer.module.Conversation.from_json(data.decode())
        return lambda: peer.render(conversation)
    if op == "strict":
        tokens = array.array("I")
        tokens.frombytes(data)
        tokens = tokens.tolist()
        return lambda: peer.strict(tokens)
    raise ValueError("no operation " + op)


def summary(op, out):
    """How many ids, or messages, and a checksum of the ids, or of the messages' texts."""
    if op == "strict":
        return len(out), zlib.crc32("".join(c.text for m in out for c in m.content).encode())
    if op == "render":
        out = [out]
    count, checksum = 0, 0
    for ids in out:
        count += len(ids)
        checksum = zlib.crc32(array.array("I", ids).tobytes(), checksum)
    return count, checksum


def turn(peer, op, file, repeat, warm=""):
    if warm:
        work(peer, op, warm)()
    run = work(peer, op, file)
    before = CPU()
    for _ in range(repeat):
        out = run()
    cpu = CPU() - before
    count, checksum = summary(op, out)
    return {"cpu": cpu, "count": count, "sum": checksum}


def say(line):
    print(json.dumps(line), flush=True)


def main():
    name, vocabulary = sys.argv[1:]
    peer = PEERS[name]()
    before, size = CPU(), resident()
    peer.load(vocabulary)
    peer.encode("a")
    now = CPU()
    say({"start": now, "load": now - before, "rss": resident() - size})
    for line in sys.stdin:
        try:
            say(turn(peer, **json.loads(line)))
        except BaseException as error:  # a Rust panic is no Exception
            say({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
