package rustfrontend

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// writeModel writes the files of a model that the front end reads before it serves: its kind, its end tokens and its
// vocabulary. The vocabulary has no merges, because nothing is encoded here: prompts come as ids.
func writeModel(folder string, t *tokenizer.Tokenizer, contextLength int) error {
	vocabulary := make(map[string]uint32, tokenizer.LastSpecial)
	var added []map[string]any
	for id := range uint32(tokenizer.LastSpecial) {
		b, ok := t.TokenBytes(id)
		switch {
		case !ok:
		case tokenizer.IsSpecial(id):
			added = append(added, map[string]any{
				"id": id, "content": string(b), "special": true, "normalized": false, "lstrip": false, "rstrip": false,
				"single_word": false,
			})
		default:
			vocabulary[byteLevel(b)] = id
		}
	}
	byteLevelStep := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
		"use_regex": false}
	files := map[string]any{
		"config.json": map[string]any{
			"architectures": []string{"GptOssForCausalLM"}, "model_type": "gpt_oss", "eos_token_id": tokenizer.Return,
			"pad_token_id":            tokenizer.EndOfText,
			"max_position_embeddings": contextLength, "vocab_size": tokenizer.LastSpecial, "hidden_size": 64,
			"num_hidden_layers":   1,
			"num_attention_heads": 1, "num_key_value_heads": 1, "torch_dtype": "bfloat16",
		},
		"generation_config.json": map[string]any{
			"bos_token_id": tokenizer.StartOfText, "pad_token_id": tokenizer.EndOfText, "do_sample": true,
			"eos_token_id": []uint32{tokenizer.Return, tokenizer.EndOfText, tokenizer.Call},
		},
		"tokenizer_config.json": map[string]any{
			"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|startoftext|>", "eos_token": "<|return|>",
			"pad_token":                    "<|endoftext|>",
			"clean_up_tokenization_spaces": false,
		},
		"tokenizer.json": map[string]any{
			"version": "1.0", "truncation": nil, "padding": nil, "added_tokens": added, "normalizer": nil,
			"pre_tokenizer": byteLevelStep, "post_processor": byteLevelStep, "decoder": byteLevelStep,
			"model": map[string]any{
				"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
				"fuse_unk": false, "byte_fallback": false, "ignore_merges": true, "vocab": vocabulary, "merges": []string{},
			},
		},
	}
	for name, content := range files {
		text, err := json.Marshal(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// byteLevel spells bytes as GPT-2's vocabularies do: a printable byte of Latin-1 stands for itself, and the others
// follow from U+0100 on.
func byteLevel(b []byte) string {
	var out strings.Builder
	for _, c := range b {
		out.WriteRune(byteRunes[c])
	}
	return out.String()
}

var byteRunes = func() (runes [256]rune) {
	next := rune(0x100)
	for c := range runes {
		if c >= '!' && c <= '~' || c >= 0xa1 && c <= 0xac || c >= 0xae {
			runes[c] = rune(c)
			continue
		}
		runes[c] = next
		next++
	}
	return runes
}()

// writeVocabulary writes o200k_base in tiktoken's form: each token in base64, and its id. The front end renders
// conversations with it.
func writeVocabulary(folder string, t *tokenizer.Tokenizer) error {
	var file []byte
	for id := range uint32(tokenizer.StartOfText) {
		if b, ok := t.TokenBytes(id); ok && !tokenizer.IsSpecial(id) {
			file = fmt.Appendf(file, "%s %d\n", base64.StdEncoding.EncodeToString(b), id)
		}
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256(file)); sum != o200k.Source {
		return fmt.Errorf("the vocabulary is not o200k_base: sha256 %s", sum)
	}
	return os.WriteFile(filepath.Join(folder, "o200k_base.tiktoken"), file, 0o600)
}
