//go:build e2e && vllm

package vllm

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const (
	// conversations and forcedCalls are how many requests TestFamilies sends for each family.
	conversations = 200
	forcedCalls   = 40
)

// TestFamilies has a real vLLM render the conversations of other models by their own chat templates, behind Envoy with
// the filter. The engine gets the ids that vLLM's render gives for the client's request, and a call that is forced by
// grammar is whole. The models have random weights.
func TestFamilies(t *testing.T) {
	// By default vLLM closes a connection after 5 s. On busy cores it does so when the next request is already there.
	t.Setenv("VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "600")
	table := "| family | equal conversations | whole forced calls |\n|---|---|---|\n"
	for _, family := range engines.Families {
		t.Run(family.Name, func(t *testing.T) {
			v := startFamily(t, &family)
			c := config.Default()
			c.Listen, c.Envoy.Concurrency, c.StallTimeout = "127.0.0.1:0", 1, patience
			m := config.DefaultModel(lab.Model, contract.VLLMRender+"="+v.URL)
			m.ServerModel, m.Speaks, m.Answers.TokenIDs = engines.VLLMModel, family.Speaks, true
			m.ControlSpellings = []string{"<|no_token_of_these_models|>"} // so that what spells a token reaches vLLM's render
			c.Models = []config.Model{m}
			h := lab.RunEnvoy(t, c)
			equal := count(t, conversations, func(i int) string { return sameIDs(t, v, h, &family, i) })
			whole := count(t, forcedCalls, func(i int) string { return wholeCall(h, i) })
			table += fmt.Sprintf("| %s | %d of %d | %d of %d |\n", family.Name, equal, conversations, whole, forcedCalls)
		})
	}
	t.Log("\n" + table)
	if !t.Failed() {
		lab.ComparePageTable(t, "docs/vllm-render.md", "make test-vllm ARGS='-run ^TestFamilies -update'", "families", table)
	}
}

// startFamily starts a vLLM with a model of a family.
func startFamily(t *testing.T, family *engines.Family) *engines.VLLM {
	t.Helper()
	folder := t.TempDir()
	if err := family.WriteModel(folder, os.Getenv("HARMONY_PEERS")); err != nil {
		t.Fatal(err)
	}
	return servers.NewOf(t, folder, "--load-format", "dummy", "--enable-scale-out", "--enable-auto-tool-choice",
		"--tool-call-parser", family.Parser, "--enable-prompt-tokens-details")
}

// TestProbeFamilies has harmony probe find out the kind and the form of the calls of such models.
func TestProbeFamilies(t *testing.T) {
	for _, family := range engines.Families {
		t.Run(family.Name, func(t *testing.T) {
			c := lab.RunHarmony(t, nil, "probe", startFamily(t, &family).URL)
			if !c.Ended(5 * lab.ReadyLimit) {
				t.Fatal("harmony probe does not end")
			}
			said := c.Stdout.String()
			for _, want := range []string{"kind: " + contract.VLLMRender, "speaks: " + family.Speaks} {
				if !strings.Contains(said, want+"\n") {
					t.Errorf("no %s in\n%s%s", want, said, &c.Stderr)
				}
			}
		})
	}
}

// count runs a check n times, eight at once, and returns how often nothing is wrong.
func count(t *testing.T, n int, check func(i int) (wrong string)) (right int) {
	t.Helper()
	var running sync.WaitGroup
	var mu sync.Mutex
	turns := make(chan struct{}, 8)
	for i := range n {
		turns <- struct{}{}
		running.Go(func() {
			defer func() { <-turns }()
			wrong := check(i)
			mu.Lock()
			defer mu.Unlock()
			if wrong != "" {
				t.Errorf("%d: %s", i, wrong)
				return
			}
			right++
		})
	}
	running.Wait()
	return right
}

// getWeather is the function of the conversations. DeepSeek's template wants a description.
var getWeather = object{"type": "function", "function": object{"name": "get_weather", "strict": true,
	"description": "Tells the weather",
	"parameters":  only("city", object{"type": "string", "enum": []string{"Rome", "Oslo"}})}}

// conversation returns the members of a random Chat request.
func conversation(f *engines.Family, seed int) object {
	chance := rand.New(rand.NewPCG(uint64(seed), 7))
	words := strings.Fields(`the a weather is é 漢字 😀 <think> </think> \n {"a":1} 12 Zürich {{x}} <|x|>`)
	words = append(words, f.Marks()...)
	text := func() string {
		var b strings.Builder
		for range 1 + chance.IntN(30) {
			b.WriteString(words[chance.IntN(len(words))] + " ")
		}
		return b.String()
	}
	var messages []any
	say := func(role string, more object) {
		m := object{"role": role, "content": text()}
		for key, value := range more {
			m[key] = value
		}
		messages = append(messages, m)
	}
	if chance.IntN(2) == 0 {
		say("system", nil)
	}
	for turn := range 1 + chance.IntN(4) {
		say("user", nil)
		if chance.IntN(5) < 2 {
			id := fmt.Sprint("call_", turn)
			say("assistant", object{"tool_calls": []any{object{"id": id, "type": "function",
				"function": object{"name": "get_weather", "arguments": `{"city": "Rome"}`}}}})
			say("tool", object{"tool_call_id": id})
		}
		say("assistant", nil)
	}
	say("user", nil)
	body := object{"messages": messages, "max_tokens": 2, "temperature": 0}
	if chance.IntN(2) == 0 {
		body["tools"] = []any{getWeather}
	}
	if chance.IntN(3) == 0 {
		body["chat_template_kwargs"] = object{"enable_thinking": false, "thinking": true, "date_string": "1 Jan 2026"}
	}
	return body
}

// chatOf returns the answer to a Chat request, or what is wrong.
func chatOf(url, model string, body object, into any) (wrong string) {
	sent := object{"model": model}
	for key, value := range body {
		sent[key] = value
	}
	encoded, err := json.Marshal(sent)
	if err != nil {
		return err.Error()
	}
	a := lab.Ask(client, url, string(encoded))
	if a.Err != nil || a.Status != http.StatusOK {
		return fmt.Sprintf("%d %s %v to %s", a.Status, a.Body, a.Err, encoded)
	}
	if err := json.Unmarshal([]byte(a.Body), into); err != nil {
		return fmt.Sprintf("%v: %s", err, a.Body)
	}
	return ""
}

// sameIDs compares the ids of a prompt with those of vLLM's own render.
func sameIDs(t *testing.T, v *engines.VLLM, h *hosts.Host, f *engines.Family, seed int) (wrong string) {
	t.Helper()
	body := conversation(f, seed)
	var own struct {
		IDs []uint32 `json:"token_ids"`
	}
	if wrong := chatOf(v.URL+contract.RenderPath, engines.VLLMModel, body, &own); wrong != "" {
		return "vLLM: " + wrong
	}
	var answer struct {
		Choices []struct {
			Message struct {
				IDs []uint32 `json:"prompt_token_ids"`
			}
		}
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		}
	}
	if wrong := chatOf(h.URL+lab.ChatPath, lab.Model, body, &answer); wrong != "" {
		return wrong
	}
	if len(answer.Choices) != 1 || len(own.IDs) == 0 || !slices.Equal(answer.Choices[0].Message.IDs, own.IDs) ||
		answer.Usage.Prompt != len(own.IDs) {
		return fmt.Sprintf("the engine gets %v, vLLM renders %v", answer, own.IDs)
	}
	return ""
}

// wholeCall forces a call, by its name or not. What the grammar leaves open is random.
func wholeCall(h *hosts.Host, seed int) (wrong string) {
	body := object{"max_tokens": 1000, "seed": seed, "messages": []any{object{"role": "user", "content": "Hi"}},
		"tools": []any{getWeather}, "tool_choice": "required", "parallel_tool_calls": false}
	if seed%2 == 1 {
		body["tool_choice"] = object{"type": "function", "function": object{"name": "get_weather"}}
	}
	var answer struct {
		Choices []struct {
			Message struct {
				Content *string
				Calls   []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			FinishReason string `json:"finish_reason"`
		}
	}
	if wrong := chatOf(h.URL+lab.ChatPath, lab.Model, body, &answer); wrong != "" {
		return wrong
	}
	var arguments struct{ City string }
	for _, c := range answer.Choices {
		if len(c.Message.Calls) == 1 && c.Message.Calls[0].Function.Name == "get_weather" &&
			json.Unmarshal([]byte(c.Message.Calls[0].Function.Arguments), &arguments) == nil &&
			(arguments.City == "Rome" || arguments.City == "Oslo") && c.FinishReason == "tool_calls" {
			return ""
		}
	}
	shown, _ := json.Marshal(answer)
	return string(shown)
}
