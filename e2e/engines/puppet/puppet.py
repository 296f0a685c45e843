"""What both forms of the puppet have: its vocabulary, its letters, and the one query and key of the layer that sees.

The puppet is a gpt-oss model with the real vocabulary that says what its prompt tells it to say. The next token is always
the one that stands D tokens before it (puppet.json has D). A prompt of a script and as much padding as makes them D
tokens long is therefore answered with the script. Nothing is trained; the weights are set so that

  - layer 0, whose attention sees only a window, adds nothing;
  - layer 1 has the same query and the same key at every position, apart from what the rotary embedding makes of them. The
    query is turned back by D-1 positions, so its product with the key is largest where the key stands D-1 positions
    before it, and attention sees that token alone;
  - values and outputs pass the seen token's embedding on, far larger than the one that is already there;
  - the output matrix is the embedding again, so that token gets the largest logit, by tens.

A user's text cannot spell a control token. puppet.json names a rare letter for each: its embedding, as an input, is that
of the control token, so a script with the letter in it is answered with the control token.
"""

import hashlib
import json
import pathlib
import struct
import zlib

import numpy as np

VOCABULARY = 201_088  # ids of gpt-oss, of which the first 199,998 are text
START_OF_TEXT, END_OF_TEXT, RETURN = 199_998, 199_999, 200_002
SPECIAL = {
    START_OF_TEXT: "<|startoftext|>",
    END_OF_TEXT: "<|endoftext|>",
    RETURN: "<|return|>",
    200_003: "<|constrain|>",
    200_005: "<|channel|>",
    200_006: "<|start|>",
    200_007: "<|end|>",
    200_008: "<|message|>",
    200_012: "<|call|>",
    200_018: "<|endofprompt|>",
}


def read_vocabulary(path):
    """Returns the text tokens by id. harmonycore/tokenizer/o200k/unpack.go describes the file."""
    file = pathlib.Path(path).read_bytes()
    magic, version, n, _, suffixes = struct.unpack_from("<4s4I", file)
    assert magic == b"OVOC" and version == 1, f"{path} is not a packed vocabulary of version 1"
    header = 20 + 2 * 32
    data = zlib.decompress(file[header:], wbits=-15)
    shared, lengths = data[:n], data[n : 2 * n]
    rest, planes = data[2 * n : 2 * n + suffixes], data[2 * n + suffixes :]
    tokens = [b""] * n
    last, at = b"", 0
    for i in range(n):
        size = lengths[i] - shared[i]
        last = last[: shared[i]] + rest[at : at + size]
        at += size
        tokens[planes[i] | planes[n + i] << 8 | planes[2 * n + i] << 16] = last
    expanded = hashlib.sha256(b"".join(bytes([len(token)]) + token for token in tokens)).digest()
    assert expanded == file[header - 32 : header], f"{path} is damaged"
    return tokens


def merge_of(token, ranks):
    """Returns the two parts that byte pair encoding merges into token at last; None when it never comes to that."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        merged = [ranks.get(parts[i] + parts[i + 1], VOCABULARY) for i in range(len(parts) - 1)]
        rank = min(merged)
        if rank >= ranks[token]:
            return None
        i = merged.index(rank)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return parts


def printable():
    """Returns the letter for each byte, as GPT-2 and GGUF spell tokens: those of ASCII and Latin-1 that print, then others."""
    own = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [b for b in range(256) if b not in own]
    return {b: chr(b) for b in own} | {b: chr(256 + i) for i, b in enumerate(others)}


SHARPNESS = 24.0  # of query and key: the score falls by its square


def query_and_key(distance, width, context, rope_base):
    """Returns the one query and the one key, as rotary pairs: the first half of the numbers with the second half."""
    angles = rope_base ** (-np.arange(width // 2) * 2.0 / width)
    back = (distance - 1) * angles
    query = SHARPNESS * np.concatenate([np.cos(back), -np.sin(back)])
    key = SHARPNESS * np.concatenate([np.ones(width // 2), np.zeros(width // 2)])
    # How much lower the score is anywhere else in the context.
    apart = np.arange(context)[:, None] - (distance - 1)
    score = SHARPNESS**2 / np.sqrt(width) * np.cos(apart * angles).sum(axis=1)
    others = np.delete(score, distance - 1)
    assert score[distance - 1] - others.max() > 40, "the token that is said does not stand out"
    return query.astype(np.float32), key.astype(np.float32)


def read_puppet():
    """Returns the distance of puppet.json, and the name of the control token that each letter stands for."""
    puppet = json.loads(pathlib.Path(__file__).with_name("puppet.json").read_text(encoding="utf-8"))
    return puppet["distance"], {letter: name for name, letter in puppet["letters"].items()}


def aliases(tokens):
    """Returns, by the id of each letter of puppet.json, the id of the control token that it stands for."""
    ids = {token: id for id, token in enumerate(tokens)}
    special = {name: id for id, name in SPECIAL.items()}
    return {ids[letter.encode()]: special[name] for letter, name in read_puppet()[1].items()}
