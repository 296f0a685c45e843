//go:build e2e

package responses

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/sim"
)

// TestFields checks the fields that the service and the gateway share: what a stored response says of its request, and
// what is refused.
func TestFields(t *testing.T) {
	onAll(t, func(t *testing.T, host, database string) {
		g := start(t, host, database, "", sim.Options{Keep: 100, Script: answers()})
		made := g.Do("POST", "responses", g.Body(`"input":"first question","metadata":{"topic":"x"},"truncation":"auto",`+
			`"include":["message.output_text.logprobs"],"top_logprobs":2,"safety_identifier":"s","temperature":0.5,`+
			`"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],"reasoning":{"effort":"low"}`), 200)
		one := &response{}
		g.Object("Response", made, one)
		read := g.Do("GET", "responses/"+one.ID+"?include=message.output_text.logprobs", "", 200)
		if !sameJSON(t, made.Body, read.Body) {
			t.Errorf("created as %s\nread as    %s", made.Body, read.Body)
		}
		for _, want := range []string{`"topic":"x"`, `"truncation":"auto"`, `"effort":"low"`, `"temperature":0.5`, `"name":"f"`} {
			if !strings.Contains(read.Body, want) {
				t.Errorf("no %s in %s", want, read.Body)
			}
		}
		if plain := g.Do("GET", "responses/"+one.ID, "", 200); strings.Contains(plain.Body, `"logprobs":[{`) {
			t.Errorf("logprobs that nobody asked for: %s", plain.Body)
		}
		for _, tt := range []struct{ members, code string }{
			{`"input":"x","prompt":{"id":"pmpt_1"}`, "unsupported_parameter"},
			{`"input":"x","metadata":{"k":7}`, "invalid_type"},
			{`"input":"x","include":["nothing"]`, "invalid_value"},
			{`"input":"x","truncation":"sometimes"`, "invalid_value"},
			{`"input":7`, "invalid_type"},
			{`"input":["x"]`, "invalid_type"},
			{`"input":"x","stream":"yes"`, "invalid_type"},
			{`"input":"x","conversation":"conv_1","previous_response_id":"resp_1"`, "mutually_exclusive_parameters"},
		} {
			g.Refused("POST", "responses", g.Body(tt.members), 400, tt.code)
			g.Refused("POST", "responses", g.Body(tt.members+`,"background":true`), 400, tt.code)
		}
		g.Refused("GET", "responses/"+one.ID+"/input_items?limit=0", "", 400, "invalid_value")
		g.Refused("GET", "responses/"+one.ID+"/input_items?order=up", "", 400, "invalid_value")
		g.Refused("GET", "responses/"+one.ID+"/input_items?after=msg_none", "", 400, "invalid_value")
	})
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		t.Fatalf("%s or %s is no JSON", a, b)
	}
	one, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	other, err := json.Marshal(y)
	if err != nil {
		t.Fatal(err)
	}
	return string(one) == string(other)
}
