//go:build llamacpp

package llamacpp

import (
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestScriptsAsText asks for the scripts by the text of a user's message, which is encoded as text like any other.
func TestScriptsAsText(t *testing.T) {
	s := start(t, 1, 4096)
	head := engines.Spell("<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n" +
		"Knowledge cutoff: 2024-06\nCurrent date: 2026-11-23\n\nReasoning: low\n\n" +
		"# Valid channels: analysis, commentary, final. Channel must be included for every message.<|end|>" +
		"<|start|>user<|message|>")
	for _, script := range engines.Scripts {
		if script.Text == "" {
			continue
		}
		t.Run(script.Name, func(t *testing.T) {
			text, err := engines.Text(script.Text, engines.GenerationPrompt)
			if err != nil {
				t.Fatal(err)
			}
			prompt := slices.Concat(head, o200k.Tokenizer().AppendEncode(nil, text), engines.Spell(engines.GenerationPrompt))
			got := complete(t, s, ask(prompt, map[string]any{"stream": false, "return_tokens": true}))
			if want := untilEnd(t, script.IDs); !slices.Equal(got.Tokens, want) || got.TokensEvaluated != len(prompt) {
				t.Errorf("after a prompt of %d tokens, of which it has evaluated %d, it said\n%v, want\n%v",
					len(prompt), got.TokensEvaluated, got.Tokens, want)
			}
		})
	}
}
