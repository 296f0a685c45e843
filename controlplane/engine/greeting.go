package engine

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// greeting is a short conversation whose answer begins with a message's header.
const greeting = "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n" +
	"Knowledge cutoff: 2024-06\n\nReasoning: low\n\n# Valid channels: analysis, commentary, final. " +
	"Channel must be included for every message.<|end|><|start|>user<|message|>Say hello.<|end|><|start|>assistant"

// Greeting returns the ids of a short conversation, and those that end an answer to it.
func Greeting() (prompt, ends []uint32) {
	return slices.Clone(known[0].ids), []uint32{tokenizer.Return, tokenizer.Call}
}

// FixedText is an answer to the greeting that no model gives by itself.
const FixedText = "<|channel|>final<|message|>1729"

// FixedTag returns a structural tag that allows [FixedText] only. It has control tokens as text, as the filter's tags
// have.
func FixedTag() []byte {
	return []byte(`{"type":"structural_tag","format":{"type":"const_string","value":"` + FixedText + `"}}`)
}
