package responses

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/services/responses/items"
)

// A choice holds in each round, and what it requires in the first.
func TestToolChoice(t *testing.T) {
	const fail, say = `{"name":"fail","type":"function"}`, `{"name":"say_it","type":"function"}`
	const mine = `{"type":"function","name":"mine"}`
	allowed := func(mode, tools string) string {
		return `{"mode":"` + mode + `","tools":[` + tools + `],"type":"allowed_tools"}`
	}
	for choice, want := range map[string][2]string{
		`null`:       {`null`, `null`},
		`"auto"`:     {`"auto"`, `"auto"`},
		`"none"`:     {`"none"`, `"none"`},
		`"required"`: {`"required"`, `"auto"`},
		mine:         {mine, allowed("auto", mine)},
		`{"type":"mcp","server_label":"t","name":"say.it"}`: {allowed("required", say), allowed("auto", say)},
		`{"type":"mcp","server_label":"t"}`:                 {allowed("required", fail+","+say), allowed("auto", fail+","+say)},
		`{"type":"allowed_tools","mode":"required","tools":[{"type":"mcp","server_label":"t","name":"fail"},` + mine + `]}`: {
			allowed("required", fail+","+mine), allowed("auto", fail+","+mine)},
	} {
		f, gateway, _ := startTools(t, ToolOptions{}, []string{answerOf("completed", 1, 1, callItem("t", "say_it", `{}`)),
			answerOf("completed", 1, 1, textItem("done"))}, saying("hello"), failing())
		_, body := f.do("POST", "/v1/responses", `{"model":"m","input":"go","tools":[{"type":"function","name":"mine"},`+
			`{"type":"mcp","server_label":"t","require_approval":"never"}],"tool_choice":`+choice+`}`)
		for i := range want {
			if got := choiceOf(t, gateway.asked[i]); got != want[i] {
				t.Errorf("%s: round %d has %s", choice, i, got)
			}
		}
		if echo := choiceOf(t, body); echo != choice && (choice != "null" || echo != `"auto"`) {
			t.Errorf("%s: %s", choice, echo)
		}
	}
}

func choiceOf(t *testing.T, body string) string {
	t.Helper()
	var o struct {
		Choice json.RawMessage `json:"tool_choice"`
	}
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return string(items.OrNull(o.Choice))
}

// Another server's tool of the same name is not chosen.
func TestToolChoiceOfServer(t *testing.T) {
	other := toolservers.Plain(t, saying("other"))
	f, gateway, server := startTools(t, ToolOptions{Servers: []ToolServer{{Label: "other", URL: other.Streamable()}}},
		[]string{answerOf("completed", 1, 1, callItem("other", "say_it", `{}`), callItem("t", "say_it", `{}`)),
			answerOf("completed", 1, 1, textItem("done"))}, saying("hello"))
	r := f.ask(`"input":"go","tool_choice":{"type":"mcp","server_label":"t"},"tools":[` +
		`{"type":"mcp","server_label":"other","require_approval":"never"},` +
		`{"type":"mcp","server_label":"t","require_approval":"never"}]`)
	if strings.Contains(gateway.asked[0], `"name":"other"`) || len(other.Calls()) != 0 || len(server.Calls()) != 1 ||
		len(r.Tools) != 2 || r.types() != "mcp_list_tools mcp_list_tools mcp_call mcp_call message" {
		t.Errorf("%+v %s", r, gateway.asked[0])
	}
}
