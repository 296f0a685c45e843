//go:build e2e

package responses

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestPersist checks what is kept of a turn with a call and of the turn with its answer, for each setting. The
// reasoning of a turn is in the prompt until its answer, if it is stored.
func TestPersist(t *testing.T) {
	const call = `"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],`
	for _, tt := range []struct {
		settings string
		// afterCall and afterAnswer are the types of the items that are stored then.
		afterCall, afterAnswer string
		thought                bool
	}{
		{"{}", "question|thought|preamble|call", "question|thought|preamble|call|output|final thought|answer", true},
		{"{reasoning: until_final}", "question|thought|preamble|call", "question|preamble|call|output|answer", true},
		{"{reasoning: never}", "question|preamble|call", "question|preamble|call|output|answer", false},
		{"{reasoning: until_final, commentary: drop}", "question|thought|call", "question|call|output|answer", true},
	} {
		onKinds(t, tt.settings, func(t *testing.T, kind string) {
			g := start(t, "wazero", "", "  persist: "+tt.settings, sim.Options{Keep: 100, Kind: kind, Script: sim.NewScript(
				sim.Line{Match: "the output", Tokens: lab.Tokens("<|channel|>analysis<|message|>final thought<|end|><|start|>assistant" +
					"<|channel|>final<|message|>answer<|return|>")},
				sim.Line{Match: "question", Tokens: lab.Tokens("<|channel|>analysis<|message|>thought<|end|><|start|>assistant" +
					"<|channel|>commentary<|message|>preamble<|end|><|start|>assistant<|channel|>commentary to=functions.f " +
					"<|constrain|>json<|message|>{}<|call|>")})})
			one, _ := g.Stream(call + `"input":"question"`)
			id := ""
			for _, i := range one.Output {
				if i.Type == "function_call" {
					id = i.CallID
				}
			}
			if got := g.kept(one.ID); got != tt.afterCall {
				t.Errorf("after the call %s, want %s", got, tt.afterCall)
			}
			two := g.Create(call + `"previous_response_id":"` + one.ID + `","input":[{"type":"function_call_output","call_id":"` +
				id + `","output":"the output"}]`)
			if got := strings.Contains(g.LastPrompt(), "<|channel|>analysis<|message|>thought"); got != tt.thought {
				t.Errorf("the thought is in the prompt: %v, want %v", got, tt.thought)
			}
			if two.Text() != "answer" {
				t.Errorf("%+v", two)
			}
			if got := g.kept(two.ID); got != tt.afterAnswer {
				t.Errorf("after the answer %s, want %s", got, tt.afterAnswer)
			}
		})
	}
}

// onKinds runs a test before servers that take prompts, and before servers that take conversations, whose messages have
// no phase.
func onKinds(t *testing.T, name string, test func(t *testing.T, kind string)) {
	for _, kind := range []string{sim.VLLM, sim.Chat} {
		t.Run(name+" "+kind, func(t *testing.T) { test(t, kind) })
	}
}

// kept returns the items of a chain, in short.
func (g *gateway) kept(id string) string {
	g.T.Helper()
	l := &list{}
	g.Object("ResponseItemList", g.Do("GET", "responses/"+id+"/input_items?order=asc&limit=100", "", 200), l)
	r := &response{}
	g.Object("Response", g.Do("GET", "responses/"+id, "", 200), r)
	var kept []string
	for _, i := range append(l.Data, r.Output...) {
		switch i.Type {
		case "function_call":
			kept = append(kept, "call")
		case "function_call_output":
			kept = append(kept, "output")
		default:
			kept = append(kept, i.Content[0].Text)
		}
	}
	return strings.Join(kept, "|")
}
