//go:build e2e && vllm

package vllm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
)

var servers engines.VLLMs

func TestMain(m *testing.M) {
	code := m.Run()
	servers.Close()
	fmt.Printf("the largest vLLM has had %.1f GiB\n", float64(servers.Peak())/(1<<30))
	os.Exit(code)
}

// client gives up on what does not come. vLLM on busy cores is slow.
var client = &http.Client{Timeout: 5 * time.Minute}

// wideFlags are those of the server that most tests share: every path is served, and cached tokens are shown.
var wideFlags = []string{"--enable-scale-out", "--enable-prompt-tokens-details", "--enable-auto-tool-choice",
	"--tool-call-parser", "openai", "--reasoning-parser", "openai_gptoss"}

// post sends a request to a server and returns the answer.
func post(t *testing.T, url string, body any) (int, []byte) {
	t.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Post(url, "application/json", bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, got
}

// TestScripts has the server say every script, by ids and as the text of a user's message.
func TestScripts(t *testing.T) {
	v := servers.Shared(t, wideFlags...)
	head := engines.Spell("<|start|>system<|message|>You are ChatGPT.<|end|><|start|>user<|message|>")
	for _, script := range engines.Scripts {
		prompts := map[string][]uint32{}
		var err error
		if prompts["ids"], err = engines.Prompt(script.IDs, engines.GenerationPrompt); err != nil {
			t.Fatal(err)
		}
		if script.Text != "" {
			text, err := engines.Text(script.Text, engines.GenerationPrompt)
			if err != nil {
				t.Fatal(err)
			}
			prompts["text"] = slices.Concat(head, engines.Spell(text), engines.Spell(engines.GenerationPrompt))
		}
		for how, prompt := range prompts {
			t.Run(script.Name+"/"+how, func(t *testing.T) {
				status, body := post(t, v.URL+"/v1/completions", map[string]any{
					"model": engines.VLLMModel, "prompt": prompt, "max_tokens": 400, "temperature": 0, "return_token_ids": true,
				})
				var answer struct {
					Choices []struct {
						IDs []uint32 `json:"token_ids"`
					} `json:"choices"`
				}
				if err := json.Unmarshal(body, &answer); err != nil || status != http.StatusOK || len(answer.Choices) != 1 {
					t.Fatalf("%d %s (%v)", status, body, err)
				}
				if got, want := answer.Choices[0].IDs, engines.UntilEnd(script.IDs); !slices.Equal(got, want) {
					t.Errorf("it said\n%v, want\n%v", got, want)
				}
			})
		}
	}
}
