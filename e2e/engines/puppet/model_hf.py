"""Writes the puppet (puppet.py) as the folder of 110 MB that vLLM serves: configuration, tokenizer and safetensors.

    model_hf.py --vocabulary o200k.vocab --out FOLDER

It has two heads: vLLM's kernels want a head of 64 numbers, and the embedding has 128, so each head passes on a half.
"""

import argparse
import json
import pathlib

import numpy as np
from safetensors.numpy import save_file

from puppet import END_OF_TEXT, RETURN, SPECIAL, START_OF_TEXT, VOCABULARY
from puppet import aliases, merge_of, printable, query_and_key, read_puppet, read_vocabulary

WIDTH, HEAD, HEADS, KEY_HEADS = 128, 64, 4, 2
LAYERS = 2
EXPERTS, EXPERTS_USED, EXPERT_WIDTH = 4, 2, 128  # there because the architecture has them
CONTEXT = 131_072
ROPE_BASE = 150_000.0
CALL = 200_012

LOUDNESS = 30.0  # how much larger than the last token's embedding the seen one is
CERTAINTY = 20.0  # the factor of the logits

# How o200k splits text before it merges bytes.
WORD = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
SPLIT = "|".join(
    (
        rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{WORD}",
        rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{WORD}",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


def config():
    return {
        "architectures": ["GptOssForCausalLM"],
        "model_type": "gpt_oss",
        "dtype": "bfloat16",
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "head_dim": HEAD,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KEY_HEADS,
        "num_hidden_layers": LAYERS,
        "layer_types": ["sliding_attention", "full_attention"],
        "sliding_window": 128,
        "attention_bias": True,
        "attention_dropout": 0.0,
        "num_local_experts": EXPERTS,
        "num_experts_per_tok": EXPERTS_USED,
        "experts_per_token": EXPERTS_USED,
        "intermediate_size": EXPERT_WIDTH,
        "hidden_act": "silu",
        "swiglu_limit": 7.0,
        "rms_norm_eps": 1e-05,
        "initializer_range": 0.02,
        "router_aux_loss_coef": 0.9,
        "output_router_logits": False,
        "tie_word_embeddings": False,
        "use_cache": True,
        "max_position_embeddings": CONTEXT,
        "initial_context_length": 4096,
        "rope_theta": int(ROPE_BASE),
        # vLLM computes YaRN for gpt-oss whatever is here. With the factor 1 it is the plain rotary embedding.
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 1.0,
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "original_max_position_embeddings": CONTEXT,
            "truncate": False,
        },
        "eos_token_id": RETURN,
        "pad_token_id": END_OF_TEXT,
    }


def tokenizer(tokens):
    letters = printable()
    spell = lambda token: "".join(letters[b] for b in token)
    ranks = {token: rank for rank, token in enumerate(tokens)}
    merges = [merge_of(token, ranks) for token in tokens if len(token) > 1]
    # Every id after the text's needs a token: added tokens are numbered without gaps.
    added = [
        {"id": id, "content": SPECIAL.get(id, f"<|reserved_{id}|>"), "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        for id in range(len(tokens), VOCABULARY)
    ]
    bytes_ = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": SPLIT}, "behavior": "Isolated", "invert": False},
                bytes_,
            ],
        },
        "post_processor": bytes_ | {"trim_offsets": False},
        "decoder": bytes_ | {"use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": {spell(token): id for id, token in enumerate(tokens)},
            "merges": [[spell(part) for part in pair] for pair in merges if pair],
        },
    }


def zeros(*shape):
    return np.zeros(shape, np.float32)


def embeddings(inputs_of):
    """Returns random directions as embeddings and, larger, as outputs; each letter has a control token's as input."""
    tokens = np.random.default_rng(1).standard_normal((VOCABULARY, WIDTH)).astype(np.float32)
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    inputs = tokens.copy()
    for letter, id in inputs_of.items():
        inputs[letter] = tokens[id]
    return {
        "model.embed_tokens.weight": inputs,
        "model.norm.weight": np.ones(WIDTH, np.float32),
        "lm_head.weight": CERTAINTY * tokens,
    }


def layer(number, distance):
    sees = number == LAYERS - 1
    query, key = query_and_key(distance, HEAD, CONTEXT, ROPE_BASE) if sees else (zeros(HEAD), zeros(HEAD))
    output = zeros(WIDTH, HEADS * HEAD)
    if sees:
        # Heads 0 and 1 share the first key head, 2 and 3 the second. One of each passes its half on.
        for half, head in enumerate((0, 2)):
            output[half * HEAD : (half + 1) * HEAD, head * HEAD : (head + 1) * HEAD] = LOUDNESS * np.eye(HEAD)
    name = f"model.layers.{number}."
    attention, experts = name + "self_attn.", name + "mlp."
    return {
        name + "input_layernorm.weight": np.ones(WIDTH, np.float32),
        name + "post_attention_layernorm.weight": np.ones(WIDTH, np.float32),
        attention + "q_proj.weight": zeros(HEADS * HEAD, WIDTH),
        attention + "q_proj.bias": np.tile(query, HEADS),
        attention + "k_proj.weight": zeros(KEY_HEADS * HEAD, WIDTH),
        attention + "k_proj.bias": np.tile(key, KEY_HEADS),
        attention + "v_proj.weight": np.eye(KEY_HEADS * HEAD, WIDTH, dtype=np.float32) if sees else zeros(KEY_HEADS * HEAD, WIDTH),
        attention + "v_proj.bias": zeros(KEY_HEADS * HEAD),
        attention + "o_proj.weight": output,
        attention + "o_proj.bias": zeros(WIDTH),
        # A sink takes attention from the tokens. This one takes none.
        attention + "sinks": np.full(HEADS, -1e4, np.float32),
        experts + "router.weight": zeros(EXPERTS, WIDTH),
        experts + "router.bias": zeros(EXPERTS),
        experts + "experts.gate_up_proj": zeros(EXPERTS, WIDTH, 2 * EXPERT_WIDTH),
        experts + "experts.gate_up_proj_bias": zeros(EXPERTS, 2 * EXPERT_WIDTH),
        experts + "experts.down_proj": zeros(EXPERTS, EXPERT_WIDTH, WIDTH),
        experts + "experts.down_proj_bias": zeros(EXPERTS, WIDTH),
    }


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--vocabulary", required=True, help="harmonycore/tokenizer/o200k/o200k.vocab")
    flags.add_argument("--out", required=True, help="the folder to write")
    given = flags.parse_args()

    tokens = read_vocabulary(given.vocabulary)
    out = pathlib.Path(given.out)
    out.mkdir(parents=True, exist_ok=True)
    for name, content in (
        ("config", config()),
        ("tokenizer", tokenizer(tokens)),
        (
            "tokenizer_config",
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "model_max_length": CONTEXT,
                "bos_token": SPECIAL[START_OF_TEXT],
                "eos_token": SPECIAL[RETURN],
                "pad_token": SPECIAL[END_OF_TEXT],
                "clean_up_tokenization_spaces": False,
            },
        ),
        (
            "generation_config",
            {
                "bos_token_id": START_OF_TEXT,
                "eos_token_id": [RETURN, END_OF_TEXT, CALL],
                "pad_token_id": END_OF_TEXT,
                "do_sample": True,
            },
        ),
    ):
        (out / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    tensors = embeddings(aliases(tokens))
    for number in range(LAYERS):
        tensors |= layer(number, read_puppet()[0])
    halves = {name: np.ascontiguousarray(tensor.astype(np.float16)) for name, tensor in tensors.items()}
    save_file(halves, out / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
