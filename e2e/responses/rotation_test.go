//go:build e2e

package responses

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestRotation replaces the keys of the store and of sealed reasoning under a stored chain whose client has never seen
// its reasoning.
func TestRotation(t *testing.T) {
	const (
		first  = "first:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
		second = "second:Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA="
		call   = `"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],`
	)
	database := filepath.Join(t.TempDir(), "responses.db")
	script := func() *sim.Script {
		return sim.NewScript(
			sim.Line{Match: "the output", Tokens: lab.Tokens("<|channel|>final<|message|>the answer<|return|>")},
			sim.Line{Match: "first question", Tokens: lab.Tokens("<|channel|>analysis<|message|>a secret thought<|end|>" +
				"<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>")})
	}
	begin := func(seal, store string) *gateway {
		return &gateway{service.Start(t, service.Options{Host: "wazero", Database: database,
			Environment:   []string{"HARMONY_SEAL_KEYS=" + seal, "HARMONY_STORE_KEYS=" + store},
			ModelSettings: []string{"answers: {hide_reasoning: true}"}, Sim: sim.Options{Keep: 100, Script: script()}})}
	}
	g := begin(first, first)
	one, events := g.Stream(call + `"input":"first question"`)
	if strings.Contains(events, "secret") || strings.Contains(events, "encrypted_content\":\"") {
		t.Errorf("the client gets the reasoning: %s", events)
	}
	id := ""
	for _, i := range one.Output {
		if i.Type == "function_call" {
			id = i.CallID
		}
	}
	// A client that carries the reasoning itself gets it sealed.
	sealed := g.Create(call + `"store":false,"include":["reasoning.encrypted_content"],"input":"first question"`)
	carried := sealed.Output[0].EncryptedContent
	if carried == "" {
		t.Fatalf("%+v", sealed)
	}
	lab.StopWazero(t, g.Program)

	for _, keys := range []string{second + "," + first, second} {
		g = begin(keys, second+","+first)
		two := g.Create(call + `"previous_response_id":"` + one.ID + `","input":[{"type":"function_call_output","call_id":"` + id +
			`","output":"the output"}]`)
		if two.Text() != "the answer" {
			t.Errorf("%+v", two)
		}
		g.wantPrompt([]string{"a secret thought", "the output"})
		read := g.Do("GET", "responses/"+one.ID+"?include=reasoning.encrypted_content", "", 200)
		if strings.Contains(read.Body, "secret") || !strings.Contains(read.Body, `"encrypted_content":"`) {
			t.Error(read.Body)
		}
		if keys != second {
			g.Create(`"input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"` + carried + `"},` +
				`{"role":"user","content":"the output"}]`)
		} else {
			g.Refused("POST", "responses", g.Body(`"input":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"`+
				carried+`"},{"role":"user","content":"the output"}]`), 400, "invalid_encrypted_content")
		}
		lab.StopWazero(t, g.Program)
	}
}
