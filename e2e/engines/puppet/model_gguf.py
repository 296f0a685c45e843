"""Writes the puppet (puppet.py) as the GGUF file of 36 MB that llama.cpp's server loads.

    model_gguf.py --vocabulary o200k.vocab --out puppet.gguf [--distance D]
"""

import argparse

import gguf
import numpy as np

from puppet import END_OF_TEXT, RETURN, SPECIAL, START_OF_TEXT, VOCABULARY
from puppet import aliases, merge_of, printable, query_and_key, read_puppet, read_vocabulary

WIDTH = 64  # of an embedding, and of the one head
LAYERS = 2
EXPERTS, EXPERTS_USED, EXPERT_WIDTH = 4, 2, 32  # there because the architecture has them
CONTEXT = 131_072
ROPE_BASE = 150_000.0

LOUDNESS = 30.0  # how much larger than the last token's embedding the seen one is
CERTAINTY = 20.0  # the factor of the logits


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


def add_embeddings(writer, inputs_of):
    """Adds random directions as embeddings and, larger, as outputs; each alias has another token's direction as input."""
    tokens = np.random.default_rng(1).standard_normal((VOCABULARY, WIDTH)).astype(np.float32)
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    inputs = tokens.copy()
    for alias, id in inputs_of.items():
        inputs[alias] = tokens[id]
    q8 = gguf.GGMLQuantizationType.Q8_0
    for name, matrix in (("token_embd", inputs), ("output", CERTAINTY * tokens)):
        writer.add_tensor(name + ".weight", gguf.quants.quantize(matrix, q8), raw_dtype=q8)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))


def add_layer(writer, layer, distance):
    sees = layer == LAYERS - 1
    query, key = query_and_key(distance, WIDTH, CONTEXT, ROPE_BASE) if sees else (zeros(WIDTH), zeros(WIDTH))
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
    flags = argparse.ArgumentParser()
    flags.add_argument("--vocabulary", required=True, help="harmonycore/tokenizer/o200k/o200k.vocab")
    flags.add_argument("--out", required=True, help="the GGUF file to write")
    flags.add_argument("--distance", type=int, default=read_puppet()[0], help="how far back the said token stands")
    given = flags.parse_args()

    tokens = read_vocabulary(given.vocabulary)
    writer = gguf.GGUFWriter(given.out, "gpt-oss")
    add_shape(writer, given.distance)
    add_tokenizer(writer, tokens)
    add_embeddings(writer, aliases(tokens))
    for layer in range(LAYERS):
        add_layer(writer, layer, given.distance)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
