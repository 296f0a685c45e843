//go:build e2e

package responses

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/sim"
)

// spelledCall is a thought and a call whose arguments are spelled a character at a time, as no encoder does.
func spelledCall(step int) []uint32 {
	ids := lab.Tokens(fmt.Sprintf("<|channel|>analysis<|message|>Step %d.<|end|><|start|>assistant<|channel|>commentary "+
		"to=functions.look <|constrain|>json<|message|>", step))
	for _, c := range fmt.Sprintf(`{"city": "Oslo", "step":%d}`, step) {
		ids = append(ids, lab.Tokens(string(c))...)
	}
	return append(ids, lab.Tokens("<|call|>")...)
}

// spelledChain is a model that calls a function in four steps and then answers.
func spelledChain() *sim.Script {
	var lines []sim.Line
	for step := range 4 {
		lines = append(lines, sim.Line{Tokens: spelledCall(step)})
	}
	return sim.NewScript(append(lines, sim.Line{Tokens: lab.Tokens(
		"<|channel|>analysis<|message|>Enough.<|end|><|start|>assistant<|channel|>final<|message|>It rains.<|return|>")})...)
}

const lookTool = `"tools":[{"type":"function","name":"look","parameters":{"type":"object"}}],`

// asSampled wants each prompt to begin with the one before and what was sampled after it, to the id.
func (g *gateway) asSampled(want int) {
	g.T.Helper()
	requests := lab.Completions(g.Sim)
	if len(requests) != want {
		g.T.Fatalf("the server was asked %d times, want %d", len(requests), want)
	}
	for i := 1; i < len(requests); i++ {
		before := slices.Concat(requests[i-1].PromptIDs, requests[i-1].SampledIDs)
		if got := requests[i].PromptIDs; len(got) <= len(before) || !slices.Equal(got[:len(before)], before) {
			g.T.Errorf("prompt %d is %s\nafter %s", i, lab.Vocabulary.DecodeString(got), lab.Vocabulary.DecodeString(before))
		}
	}
}

// TestChainAsSampled: a stored chain, a conversation and a chain in the background begin with the very ids that the
// model has sampled, with keys for seals and without, and the client sees none of them.
func TestChainAsSampled(t *testing.T) {
	onAll(t, func(t *testing.T, host, database string) {
		for name, keys := range map[string]string{"sealed": "HARMONY_SEAL_KEYS=" + sealKey, "clear": "HARMONY_SEAL_KEYS="} {
			t.Run(name, func(t *testing.T) {
				g := &gateway{service.Start(t, service.Options{Host: host, Database: database,
					Environment: []string{service.StoreKeys, keys}, Sim: sim.Options{Keep: 100, Script: spelledChain()}})}
				var r *response
				next := `"input":"question"`
				for step := range 5 {
					events := ""
					switch {
					case step == 2:
						r = g.Await(g.Create(lookTool + `"background":true,` + next).ID)
					case step%2 == 0:
						r, events = g.Stream(lookTool + next)
					default:
						r = g.Create(lookTool + next)
					}
					read := g.Do("GET", "responses/"+r.ID, "", 200).Body
					if strings.Contains(events+read, "sampled_ids") {
						t.Errorf("the client sees ids: %s%s", events, read)
					}
					call := r.Output[len(r.Output)-1].CallID
					next = `"previous_response_id":"` + r.ID + `","input":[{"type":"function_call_output","call_id":"` + call +
						`","output":"rain"}]`
				}
				if r.Text() != "It rains." {
					t.Errorf("%+v", r)
				}
				g.asSampled(5)
			})
		}
	})
}

// TestConversationAsSampled is the same in a conversation.
func TestConversationAsSampled(t *testing.T) {
	onAll(t, func(t *testing.T, host, database string) {
		g := start(t, host, database, "", sim.Options{Keep: 100, Script: spelledChain()})
		var conversation struct{ ID string }
		g.Object("ConversationResource", g.Do("POST", "conversations", "{}", 200), &conversation)
		input := `"question"`
		for range 5 {
			r := g.Create(lookTool + `"conversation":"` + conversation.ID + `","input":` + input)
			input = `[{"type":"function_call_output","call_id":"` + r.Output[len(r.Output)-1].CallID + `","output":"rain"}]`
		}
		g.asSampled(5)
	})
}

// sealKey is for HARMONY_SEAL_KEYS.
const sealKey = "first:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// TestForeignIDs: ids that a client carries are its tenant's alone. Those of another tenant, and those of a changed
// text, are passed over: the text is rendered.
func TestForeignIDs(t *testing.T) {
	g := &gateway{service.Start(t, service.Options{Host: "wazero",
		Environment:   []string{service.StoreKeys, "HARMONY_SEAL_KEYS=" + sealKey},
		Configuration: "seal: {tenant_header: x-tenant}", Sim: sim.Options{Keep: 100, Script: sim.NewScript(
			sim.Line{Last: "rain", Tokens: lab.Tokens("<|channel|>final<|message|>Rain.<|return|>")},
			sim.Line{Match: "question", Tokens: spelledCall(0)})}})}
	first := g.Do("POST", "responses", g.Body(lookTool+`"include":["turn.sampled_ids"],"input":"question"`), 200,
		"x-tenant", "a").Body
	_, output, _ := strings.Cut(first, `"output":[`)
	output, _, _ = strings.Cut(output, `],"parallel_tool_calls"`)
	if !strings.Contains(output, `"sampled_ids":"`) {
		t.Fatal(first)
	}
	_, call, _ := strings.Cut(output, `"call_id":"`)
	call, _, _ = strings.Cut(call, `"`)
	spelled := slices.Concat(lab.Completions(g.Sim)[0].PromptIDs, spelledCall(0))
	for _, tt := range []struct {
		tenant, city string
		exact        bool
	}{{"a", "Oslo", true}, {"b", "Oslo", false}, {"a", "Rome", false}} {
		input := `[{"role":"user","content":"question"},` + strings.ReplaceAll(output, "Oslo", tt.city) +
			`,{"type":"function_call_output","call_id":"` + call + `","output":"rain"}]`
		g.Do("POST", "responses", g.Body(lookTool+`"input":`+input), 200, "x-tenant", tt.tenant)
		requests := lab.Completions(g.Sim)
		prompt := requests[len(requests)-1].PromptIDs
		if exact := len(prompt) > len(spelled) && slices.Equal(prompt[:len(spelled)], spelled); exact != tt.exact {
			t.Errorf("%+v: the prompt begins as sampled: %v", tt, exact)
		}
	}
}
