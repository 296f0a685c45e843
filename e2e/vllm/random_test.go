//go:build e2e && vllm

package vllm

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/harmonycore/lark"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/ebnf"
)

// randomPatches are the models that TestRandomPatches asks.
const randomPatches = 40

// TestRandomPatches has models that say anything, held to the EBNF of a grammar of patches. What they write is a patch,
// or the beginning of one where the limit cut it.
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
	var running sync.WaitGroup
	var mu sync.Mutex
	whole := 0
	for seed := range randomPatches {
		prompt := randomPrompt(t, uint64(seed))
		running.Go(func() {
			status, body := post(t, url+"/v1/completions", object{"model": engines.VLLMModel, "prompt": prompt,
				"max_tokens": 160, "temperature": 0, "stop_token_ids": []int{200002, 200012},
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
	if t.Logf("%d of %d patches are whole", whole, randomPatches); whole < randomPatches/4 {
		t.Errorf("only %d patches are whole", whole)
	}
}

// randomPrompt returns a prompt after which the puppet wants to say any tokens, among them many that patches have, so
// that they end. Where the grammar blocks a token, the puppet takes the next best, which is any as well.
func randomPrompt(t *testing.T, seed uint64) []uint32 {
	t.Helper()
	chance := rand.New(rand.NewPCG(seed, 0))
	words := []string{"\n", "\n", "\n", "\n", "***", "***", " End", " Patch", "+", "-", "@@"}
	script := make([]uint32, engines.Distance()-16)
	for i := range script {
		if script[i] = chance.Uint32N(tokenizer.EndOfText); chance.IntN(2) == 0 {
			script[i] = engines.Spell(words[chance.IntN(len(words))])[0]
		}
	}
	prompt, err := engines.Prompt(script, engines.GenerationPrompt)
	if err != nil {
		t.Fatal(err)
	}
	return prompt
}
