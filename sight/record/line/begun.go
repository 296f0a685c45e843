package line

import (
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// answerStart is what a prompt has before the answer.
const answerStart = "<|start|>assistant"

// BegunIDs returns the part of the answer that a prompt ends with: what comes after its last "<|start|>assistant".
func BegunIDs(t *tokenizer.Tokenizer, prompt []uint32) []uint32 {
	start := t.AppendEncodeSpecial(nil, answerStart)
	for i := len(prompt) - len(start); i >= 0; i-- {
		if slices.Equal(prompt[i:i+len(start)], start) {
			return prompt[i+len(start):]
		}
	}
	return nil
}

// BegunText is [BegunIDs] for a prompt as text.
func BegunText(prompt string) string {
	if i := strings.LastIndex(prompt, answerStart); i >= 0 {
		return prompt[i+len(answerStart):]
	}
	return ""
}
