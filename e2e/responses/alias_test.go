//go:build e2e

package responses

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/sim"
)

// names are one of each kind by which the filter takes requests for a model of [startNamed].
var names = []string{lab.Model, "gpt-4o", "team/any"}

// startNamed runs a gateway whose requests call the model by a name.
func startNamed(t *testing.T, name, setting string, script *sim.Script) *gateway {
	g := service.Start(t, service.Options{Host: "wazero", Environment: []string{"HARMONY_SEAL_KEYS=" + lab.SealKey},
		ModelSettings: []string{"aliases: [gpt-4o, 'team/*']", setting}, Sim: sim.Options{Keep: 100, Script: script}})
	return &gateway{g.Calling(name)}
}

// TestRelayByAlias: a lost answer is asked for once more, whatever the client calls the model.
func TestRelayByAlias(t *testing.T) {
	early := sim.Fault{Kind: sim.FaultReset, After: 1}
	answer := lab.Tokens("<|channel|>final<|message|>the answer<|return|>")
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			g := startNamed(t, name, "relay: retry",
				sim.NewScript(sim.Line{Tokens: answer, Fault: &early}, sim.Line{Tokens: answer}))
			if r, _ := g.Stream(`"input":"hi"`); r.Status != "completed" || len(g.Prompts()) != 2 {
				t.Errorf("the response is %s, and the server was asked %d times", r.Status, len(g.Prompts()))
			}
		})
	}
}

// TestHiddenByAlias: the next turn of a chain has the reasoning that its client has not seen, whatever the client calls
// the model.
func TestHiddenByAlias(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			g := startNamed(t, name, "answers: {hide_reasoning: true}", sim.NewScript(
				sim.Line{Match: "the output", Tokens: lab.Tokens("<|channel|>final<|message|>the answer<|return|>")},
				sim.Line{Match: "first question", Tokens: lab.Tokens("<|channel|>analysis<|message|>a secret thought<|end|>" +
					"<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>")}))
			one, events := g.Stream(`"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],` +
				`"input":"first question"`)
			if strings.Contains(events, "secret") {
				t.Errorf("the client gets the reasoning: %s", events)
			}
			two := g.Create(`"previous_response_id":"` + one.ID + `","input":[{"type":"function_call_output","call_id":"` +
				one.Of("function_call")[0].CallID + `","output":"the output"}]`)
			if two.Text() != "the answer" {
				t.Errorf("%+v", two)
			}
			g.wantPrompt([]string{"a secret thought", "the output"})
		})
	}
}
