"""Writes the puppet: a gpt-oss model of 36 MB, with the real vocabulary, that says what its prompt tells it to say.

    puppet.py --vocabulary o200k.vocab --out puppet.gguf [--distance D]

The next token is always the one that stands D tokens before it. A prompt of a script and as much padding as makes them D
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

import argparse
import hashlib
import json
import pathlib
import struct
import zlib

import gguf
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

WIDTH = 64  # of an embedding, and of the one head
LAYERS = 2
EXPERTS, EXPERTS_USED, EXPERT_WIDTH = 4, 2, 32  # there because the architecture has them
CONTEXT = 131_072
ROPE_BASE = 150_000.0

SHARPNESS = 24.0  # of query and key: the score falls by its square
LOUDNESS = 30.0  # how much larger than the last token's embedding the seen one is
CERTAINTY = 20.0  # the factor of the logits


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


def add_tokenizer(writer, tokens):
    letters = printable()
    spell = lambda token: "".join(letters[b] for b in token)
    ranks = {token: rank for rank, token in enumerate(tokens)}
    merges = [merge_of(token, ranks) for token in tokens if len(token) > 1]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-4o")
    text = len(tokens)
    special = [SPECIAL.get(id, f"<|reserved_{id}|>") for id in range(text, VOCABULARY)]
    writer.add_token_list([spell(token) for token in tokens] + special)
    writer.add_token_types([gguf.TokenType.NORMAL] * text + [gguf.TokenType.CONTROL] * len(special))
    writer.add_token_merges([spell(pair[0]) + " " + spell(pair[1]) for pair in merges if pair])
    writer.add_bos_token_id(START_OF_TEXT)
    writer.add_eos_token_id(RETURN)
    writer.add_pad_token_id(END_OF_TEXT)
    writer.add_add_bos_token(False)


def add_shape(writer, distance):
    writer.add_name(f"puppet-{distance}")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(EXPERT_WIDTH)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_key_length(WIDTH)
    writer.add_value_length(WIDTH)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_sliding_window(128)
    writer.add_expert_count(EXPERTS)
    writer.add_expert_used_count(EXPERTS_USED)
    writer.add_expert_feed_forward_length(EXPERT_WIDTH)
    writer.add_vocab_size(VOCABULARY)


def zeros(*shape):
    return np.zeros(shape, np.float32)


def add_embeddings(writer, aliases):
    """Adds random directions as embeddings and, larger, as outputs; each alias has another token's direction as input."""
    tokens = np.random.default_rng(1).standard_normal((VOCABULARY, WIDTH)).astype(np.float32)
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    inputs = tokens.copy()
    for alias, id in aliases.items():
        inputs[alias] = tokens[id]
    q8 = gguf.GGMLQuantizationType.Q8_0
    for name, matrix in (("token_embd", inputs), ("output", CERTAINTY * tokens)):
        writer.add_tensor(name + ".weight", gguf.quants.quantize(matrix, q8), raw_dtype=q8)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))


def query_and_key(distance):
    """Returns the one query and the one key, as rotary pairs: the first half of the numbers with the second half."""
    angles = ROPE_BASE ** (-np.arange(WIDTH // 2) * 2.0 / WIDTH)
    back = (distance - 1) * angles
    query = SHARPNESS * np.concatenate([np.cos(back), -np.sin(back)])
    key = SHARPNESS * np.concatenate([np.ones(WIDTH // 2), np.zeros(WIDTH // 2)])
    # How much lower the score is anywhere else in the context.
    apart = np.arange(CONTEXT)[:, None] - (distance - 1)
    score = SHARPNESS**2 / np.sqrt(WIDTH) * np.cos(apart * angles).sum(axis=1)
    others = np.delete(score, distance - 1)
    assert score[distance - 1] - others.max() > 40, "the token that is said does not stand out"
    return query.astype(np.float32), key.astype(np.float32)


def add_layer(writer, layer, distance):
    sees = layer == LAYERS - 1
    query, key = query_and_key(distance) if sees else (zeros(WIDTH), zeros(WIDTH))
    passed = np.eye(WIDTH, dtype=np.float32) if sees else zeros(WIDTH, WIDTH)
    # A sink takes attention from the tokens. This one takes none.
    tensors = {"attn_norm.weight": np.ones(WIDTH, np.float32), "attn_sinks.weight": np.full(1, -1e4, np.float32)}
    for name, weight, bias in (
        ("attn_q", zeros(WIDTH, WIDTH), query),
        ("attn_k", zeros(WIDTH, WIDTH), key),
        ("attn_v", passed, zeros(WIDTH)),
        ("attn_output", LOUDNESS * passed, zeros(WIDTH)),
    ):
        tensors |= {name + ".weight": weight.astype(np.float16), name + ".bias": bias}
    tensors |= {
        "post_attention_norm.weight": np.ones(WIDTH, np.float32),
        "ffn_gate_inp.weight": zeros(EXPERTS, WIDTH),
        "ffn_gate_inp.bias": zeros(EXPERTS),
    }
    for name, rows, columns in (
        ("gate", EXPERT_WIDTH, WIDTH),
        ("up", EXPERT_WIDTH, WIDTH),
        ("down", WIDTH, EXPERT_WIDTH),
    ):
        tensors[f"ffn_{name}_exps.weight"] = zeros(EXPERTS, rows, columns).astype(np.float16)
        tensors[f"ffn_{name}_exps.bias"] = zeros(EXPERTS, rows)
    for name, tensor in tensors.items():
        writer.add_tensor(f"blk.{layer}.{name}", tensor)


def main():
    puppet = json.loads(pathlib.Path(__file__).with_name("puppet.json").read_text(encoding="utf-8"))
    flags = argparse.ArgumentParser()
    flags.add_argument("--vocabulary", required=True, help="harmonycore/tokenizer/o200k/o200k.vocab")
    flags.add_argument("--out", required=True, help="the GGUF file to write")
    flags.add_argument("--distance", type=int, default=puppet["distance"], help="how far back the said token stands")
    given = flags.parse_args()

    tokens = read_vocabulary(given.vocabulary)
    ids = {token: id for id, token in enumerate(tokens)}
    special = {name: id for id, name in SPECIAL.items()}
    aliases = {ids[letter.encode()]: special[name] for name, letter in puppet["letters"].items()}

    writer = gguf.GGUFWriter(given.out, "gpt-oss")
    add_shape(writer, given.distance)
    add_tokenizer(writer, tokens)
    add_embeddings(writer, aliases)
    for layer in range(LAYERS):
        add_layer(writer, layer, given.distance)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
