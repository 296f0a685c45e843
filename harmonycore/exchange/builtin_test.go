package exchange

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestBuiltInTag checks that a structural tag has the calls of built-in tools with their own headers, and that servers
// without such tags refuse to be held to them.
func TestBuiltInTag(t *testing.T) {
	head := func(recipient string) string {
		return `{"type":"sequence","elements":[{"type":"or","elements":[{"type":"const_string","value":"<|channel|>` +
			`analysis to=` + recipient + `"},{"type":"const_string","value":" to=` + recipient + `<|channel|>analysis"}]},` +
			`{"type":"const_string","value":" code<|message|>"},`
	}
	python := head("python") + strings.TrimSuffix(anyText, "}") + callEnd
	exec := head("container.exec") + `{"type":"json_schema","json_schema":{"type":"object","properties":{"cmd":` +
		`{"type":"array","items":{"type":"string"}},"workdir":{"type":"string"},"env":{"type":"object",` +
		`"additionalProperties":{"type":"string"}},"session_name":{"type":"string"},"timeout":{"type":"integer"},` +
		`"user":{"type":"string"}},"required":["cmd"]}` + callEnd
	const tools = `"tools":[{"type":"builtin","name":"python"},{"type":"builtin","name":"container"}]`
	for choice, want := range map[string]string{
		`"required"`:                            python + "," + exec,
		`{"type":"builtin","name":"container"}`: exec,
		`{"type":"builtin","name":"python"}`:    python,
	} {
		body := `{"model":"` + testModel + `","input":"Hi",` + tools + `,"tool_choice":` + choice + `}`
		g := testGateway(func(o *Options) { o.Models[0].StructuredOutputs = contract.StructuralTags })
		a := g.Begin("POST", "/v1/responses").Request([]byte(body), Host{Now: testNow, ID: testID})
		if a.Forward == nil {
			t.Fatalf("%s: refused: %s", choice, a.Reply.Body)
		}
		var sent struct {
			Structured struct {
				Tag string `json:"structural_tag"`
			} `json:"structured_outputs"`
		}
		if err := json.Unmarshal(a.Forward.Body, &sent); err != nil {
			t.Fatal(err)
		}
		if whole := `{"type":"structural_tag","format":{"type":"sequence","elements":[` + thoughts + `,` + preamble +
			`,{"type":"or","elements":[` + want + `]}]}}`; sent.Structured.Tag != whole {
			t.Errorf("%s:\ngot  %s\nwant %s", choice, sent.Structured.Tag, whole)
		}
		a = testGateway(nil).Begin("POST", "/v1/responses").Request([]byte(body), Host{Now: testNow, ID: testID})
		if a.Reply == nil || a.Reply.Status != 400 ||
			!strings.Contains(string(a.Reply.Body), contract.CodeToolChoiceNotSupported) {
			t.Errorf("%s: without tags: %+v", choice, a)
		}
	}
}
