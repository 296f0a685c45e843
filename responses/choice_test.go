package responses

import (
	"encoding/json"
	"testing"
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
	return string(orNull(o.Choice))
}
