package engines

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// Family is a family of models: its chat template as a peer publishes it, the marks of its vocabulary, and the parts of
// a tiny model of its architecture.
type Family struct {
	// Name names the family, and Template is the file of its chat template in the folder of tools/install-peers.sh.
	Name, Template string
	// Speaks is the form of its calls here, and Parser is vLLM's parser of them.
	Speaks, Parser string
	// Window is how many tokens the attention of a Qwen sees, or 0 for all.
	Window int
	// begin and end are the tokens around a conversation. special are other tokens that vLLM leaves out of text, and
	// marks those that it shows.
	begin, end     string
	special, marks []string
	// architecture is vLLM's class, and config are the members of config.json of its kind.
	architecture string
	config       map[string]any
}

// Families are the families whose models the tests run. A model has a vocabulary of bytes and its family's marks.
var Families = []Family{
	{
		Name: "Qwen 3", Template: "vllm-*/rust/src/chat/tests/templates/qwen3.jinja", Speaks: contract.SpeaksHermes,
		Parser: "hermes", begin: "<|endoftext|>", end: "<|im_end|>", special: []string{"<|im_start|>"},
		marks:        []string{"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>"},
		architecture: "Qwen3ForCausalLM", config: map[string]any{"model_type": "qwen3"},
	},
	{
		Name: "DeepSeek V3.1", Template: "vllm-*/examples/tool_chat_template_deepseekv31.jinja",
		Speaks: contract.SpeaksDeepSeekV3, Parser: "deepseek_v31",
		begin: "<｜begin▁of▁sentence｜>", end: "<｜end▁of▁sentence｜>",
		marks: strings.Fields("<｜User｜> <｜Assistant｜> <think> </think> <｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> " +
			"<｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁sep｜> <｜tool▁output▁begin｜> <｜tool▁output▁end｜>"),
		architecture: "DeepseekV3ForCausalLM",
		config: map[string]any{
			"model_type": "deepseek_v3", "q_lora_rank": nil, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
			"qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 2, "first_k_dense_replace": 9,
			"moe_layer_freq": 1, "num_key_value_heads": 2,
		},
	},
	{
		Name: "Llama 3.1", Template: "vllm-*/examples/tool_chat_template_llama3.1_json.jinja",
		Speaks: contract.SpeaksLlama3JSON, Parser: "llama3_json", begin: "<|begin_of_text|>", end: "<|eot_id|>",
		special:      strings.Fields("<|start_header_id|> <|end_header_id|> <|eom_id|> <|python_tag|> <|end_of_text|>"),
		architecture: "LlamaForCausalLM", config: map[string]any{"model_type": "llama"},
	},
}

// WriteModel writes what vLLM needs of a tiny model of the family to a folder. It has no weights: --load-format dummy
// makes them up. peers is the folder of tools/install-peers.sh.
func (f *Family) WriteModel(folder, peers string) error {
	found, err := filepath.Glob(filepath.Join(peers, f.Template))
	if err != nil || len(found) != 1 {
		return errors.Join(err, errors.New(f.Template+" is not in "+peers+": `make tool-peers` installs it"))
	}
	template, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}
	tokens, ids := f.tokenizer()
	files := map[string]any{
		"tokenizer.json": tokens,
		"tokenizer_config.json": map[string]any{
			"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": f.begin, "eos_token": f.end, "pad_token": f.begin,
			"clean_up_tokenization_spaces": false, "chat_template": string(template),
		},
		"generation_config.json": map[string]any{"do_sample": true, "eos_token_id": ids[f.end], "bos_token_id": ids[f.begin]},
		"config.json":            f.settings(ids),
	}
	for name, content := range files {
		data, err := json.Marshal(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// settings returns config.json.
func (f *Family) settings(ids map[string]int) map[string]any {
	all := map[string]any{
		"architectures": []string{f.architecture}, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 1,
		"num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32, "hidden_act": "silu", "rms_norm_eps": 1e-6,
		"rope_theta": 1e6, "max_position_embeddings": 131072, "attention_bias": false, "attention_dropout": 0,
		"initializer_range": 0.02, "tie_word_embeddings": false, "dtype": "bfloat16", "vocab_size": 512,
		"bos_token_id": ids[f.begin], "eos_token_id": ids[f.end], "pad_token_id": ids[f.begin],
	}
	maps.Copy(all, f.config)
	if f.Window > 0 {
		all["use_sliding_window"], all["sliding_window"], all["max_window_layers"] = true, f.Window, 0
		all["layer_types"] = []string{"sliding_attention"}
	}
	return all
}

// tokenizer returns tokenizer.json, and the ids of the marks.
func (f *Family) tokenizer() (content map[string]any, ids map[string]int) {
	vocabulary, next := map[string]int{}, 256
	for b := range 256 {
		letter := b
		if b <= ' ' || b >= 0x7f && b <= 0xa0 || b == 0xad {
			letter, next = next, next+1 // bytes without a letter have those above 255, in their order
		}
		vocabulary[string(rune(letter))] = b
	}
	ids = map[string]int{}
	var added []any
	special := append([]string{f.begin, f.end}, f.special...)
	for i, mark := range append(special, f.marks...) {
		ids[mark] = 256 + i
		added = append(added, map[string]any{
			"id": ids[mark], "content": mark, "special": i < len(special), "single_word": false, "lstrip": false,
			"rstrip": false, "normalized": false,
		})
	}
	bytes := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}
	return map[string]any{
		"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added, "normalizer": nil,
		"pre_tokenizer": bytes, "post_processor": bytes, "decoder": bytes,
		"model": map[string]any{
			"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
			"fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": vocabulary, "merges": []string{},
		},
	}, ids
}

// Marks returns the tokens of the vocabulary that are no text.
func (f *Family) Marks() []string { return slices.Concat([]string{f.begin, f.end}, f.special, f.marks) }
