package responses

import (
	"strings"
	"testing"
)

func TestToolRefusals(t *testing.T) {
	f, _, _ := startTools(t, ToolOptions{RefuseOthers: true}, []string{answerOf("completed", 1, 1)}, saying("hello"))
	for tools, code := range map[string]string{
		`{"type":"mcp"}`:                        "missing_required_parameter",
		`{"type":"mcp","server_label":"a b"}`:   "invalid_value",
		`{"type":"mcp","server_label":"other"}`: "missing_required_parameter",
		`{"type":"mcp","server_label":"other","server_url":"http://127.0.0.1:1/mcp"}`:  "invalid_value",
		`{"type":"mcp","server_label":"t","connector_id":"connector_gmail"}`:           "unsupported_parameter",
		`{"type":"mcp","server_label":"t","require_approval":"maybe"}`:                 "invalid_value",
		`{"type":"mcp","server_label":"t","headers":{"Host":"x"}}`:                     "invalid_value",
		`{"type":"mcp","server_label":"t"},{"type":"mcp","server_label":"t"}`:          "invalid_value",
		`{"type":"mcp","server_label":"t"},{"type":"namespace","name":"t","tools":[]}`: "invalid_value",
		`{"type":"image_generation"}`:                                                  "unsupported_parameter",
	} {
		f.wants(400, code, "POST", "/v1/responses", `{"model":"m","input":"x","tools":[`+tools+`]}`)
	}
	// A credential is bounded as headers are, alone and with them.
	long := strings.Repeat("x", 16<<10)
	for _, secrets := range []string{`"authorization":"x` + long + `"`, `"headers":{"X-Key":"` + long + `"}`,
		`"authorization":"` + long + `","headers":{"X-Key":"x"}`} {
		f.wants(400, "invalid_value", "POST", "/v1/responses", `{"model":"m","input":"x","tools":[{"type":"mcp",`+
			`"server_label":"t",`+secrets+`}]}`)
	}
	f.wants(400, "unsupported_parameter", "POST", "/v1/responses", `{"model":"m","input":"x","background":true,"tools":[`+
		`{"type":"mcp","server_label":"t","authorization":"x"}]}`)
}

func TestToolFilters(t *testing.T) {
	reading := saying("hello")
	reading.Name, reading.ReadOnly = "read", true
	for _, c := range []struct{ members, listed string }{
		{``, "read say.it"},
		{`,"allowed_tools":null`, "read say.it"},
		{`,"allowed_tools":{}`, "read say.it"},
		{`,"allowed_tools":{"tool_names":null,"read_only":true}`, "read"},
		{`,"allowed_tools":{"read_only":false}`, "say.it"},
		{`,"allowed_tools":{"tool_names":["say.it","other"]}`, "say.it"},
		{`,"allowed_tools":["read"]`, "read"},
		{`,"allowed_tools":[]`, ""},
	} {
		f, _, _ := startTools(t, ToolOptions{}, []string{answerOf("completed", 1, 1, textItem("done"))}, reading,
			saying("hello"))
		r := f.ask(`"input":"go","tools":[{"type":"mcp","server_label":"t"` + c.members + `}]`)
		var names []string
		for _, tool := range r.Output[0]["tools"].([]any) {
			names = append(names, tool.(map[string]any)["name"].(string))
		}
		if got := strings.Join(names, " "); got != c.listed {
			t.Errorf("%s: %s", c.members, got)
		}
	}
}

func TestToolApprovalFilters(t *testing.T) {
	for raw, needs := range map[string]bool{
		`{"never":{"tool_names":["say.it"]}}`:                                    false,
		`{"never":{"tool_names":["other"]}}`:                                     true,
		`{"never":{"read_only":true}}`:                                           true,
		`{"always":{"tool_names":["say.it"]},"never":{"tool_names":["say.it"]}}`: true,
		`{"always":null,"never":null}`:                                           true,
		`{}`:                                                                     true,
	} {
		f, _, server := startTools(t, ToolOptions{}, []string{answerOf("completed", 1, 1, callItem("t", "say_it", `{}`)),
			answerOf("completed", 1, 1, textItem("done"))}, saying("hello"))
		r := f.ask(`"input":"go","tools":[{"type":"mcp","server_label":"t","require_approval":` + raw + `}]`)
		if got := r.types() == "mcp_list_tools mcp_approval_request"; got != needs || len(server.Calls()) == 0 != needs {
			t.Errorf("%s: %s", raw, r.types())
		}
	}
}
