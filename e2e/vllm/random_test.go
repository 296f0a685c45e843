//go:build e2e && vllm

package vllm

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/harmonycore/lark"
	"github.com/harmonyedge/harmonyedge/internal/ebnf"
)

// TestRandomPatches has a model that says anything, held to the EBNF of a grammar of patches: at this temperature all
// allowed tokens are about as likely. What it writes is a patch, or the beginning of one where the limit cut it.
func TestRandomPatches(t *testing.T) {
	url := servers.Shared(t, wideFlags...).URL
	content, err := os.ReadFile("../../harmonycore/lark/testdata/patch.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, definition, _ := strings.Cut(string(content), "-- grammar --\n")
	definition, _, _ = strings.Cut(definition, "-- seeds --\n")
	translation := lark.Translate(definition)
	grammar, err := ebnf.Read(translation.EBNF)
	if err != nil {
		t.Fatalf("%+v: %v", translation, err)
	}
	tag, err := json.Marshal(object{"type": "structural_tag", "format": object{"type": "sequence", "elements": []any{
		object{"type": "grammar", "grammar": translation.EBNF},
		object{"type": "optional", "content": object{"type": "const_string", "value": "<|call|>"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := engines.Prompt(engines.Spell("Hello.<|return|>"), engines.GenerationPrompt)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	var mu sync.Mutex
	whole := 0
	for seed := range 40 {
		running.Go(func() {
			status, body := post(t, url+"/v1/completions", object{"model": engines.VLLMModel, "prompt": prompt,
				"max_tokens": 400, "temperature": 100, "seed": seed, "stop_token_ids": []int{200002, 200012},
				"structured_outputs": object{"structural_tag": string(tag)}})
			var answer struct {
				Choices []struct {
					Text   string
					Reason string `json:"finish_reason"`
				}
			}
			if err := json.Unmarshal(body, &answer); err != nil || status != http.StatusOK || len(answer.Choices) != 1 {
				t.Errorf("%d %s", status, body)
				return
			}
			text, ended := answer.Choices[0].Text, answer.Choices[0].Reason == "stop"
			text = strings.TrimSuffix(text, "<|call|>")
			way, possible := grammar.Begin(), true
			for _, c := range strings.TrimSuffix(text, "\ufffd") {
				if possible = possible && way.Next(c); !possible {
					break
				}
			}
			if !possible || ended && !way.Complete() {
				t.Errorf("seed %d, ended %t: %q", seed, ended, text)
			}
			mu.Lock()
			defer mu.Unlock()
			if ended {
				whole++
			}
		})
	}
	running.Wait()
	if t.Logf("%d of 40 patches are whole", whole); whole < 5 {
		t.Errorf("only %d patches are whole", whole)
	}
}
