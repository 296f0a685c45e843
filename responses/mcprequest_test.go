package responses

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
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
	f.wants(400, "unsupported_parameter", "POST", "/v1/responses", `{"model":"m","input":"x","background":true,"tools":[`+
		`{"type":"mcp","server_label":"t","authorization":"x"}]}`)
}

func TestToolListingFails(t *testing.T) {
	server := toolservers.Rude(t, toolservers.Unauthorized)
	f := startAt(t, Options{Tools: ToolOptions{Servers: []ToolServer{{Label: "t", URL: server.Streamable()}}}},
		&script{answers: []string{answerOf("completed", 1, 1)}})
	f.wants(424, "http_error", "POST", "/v1/responses", `{"model":"m","input":"x",`+never+`}`)
}
