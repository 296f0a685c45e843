package responses

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
)

// TestToolSecrets has credentials in the places and spellings in which the service would read them.
func TestToolSecrets(t *testing.T) {
	o := ToolOptions{Servers: []ToolServer{{Label: "web", URL: toolservers.Browser(t).Streamable()},
		{Label: "t", URL: toolservers.Plain(t, saying("x")).Streamable()}}, Browser: "web"}
	f := startAt(t, Options{Tools: o}, &script{answers: []string{answerOf("completed", 1, 1, textItem("a"))}})
	for _, tool := range []string{
		`"server_label":"t","authorization":"s3cret"`, `"server_label":"t","Authorization":"s3cret"`,
		`"server_label":"t","HEADERS":{"X-Key":"s3cret"}`, `"server_label":"web","authorization":"s3cret"`,
		`"server_label":"web","headers":{"X-Key":"s3cret"}`,
	} {
		r := f.ask(`"input":"x","tools":[{"type":"mcp",` + tool + `}]`)
		if _, stored := f.do("GET", "/v1/responses/"+r.ID, ""); strings.Contains(stored, "s3cret") || len(r.Tools) != 1 {
			t.Errorf("%s: %s", tool, stored)
		}
	}
	f.wants(400, "unsupported_parameter", "POST", "/v1/responses", `{"model":"m","input":"x","tool_choice":{"type":"mcp",`+
		`"server_label":"t","authorization":"s3cret"},`+never+`}`)
}

// TestToolSecretsUnserved has a service that runs no tools, and stores a request until its response has been made.
func TestToolSecretsUnserved(t *testing.T) {
	f := start(t, Options{})
	f.do("POST", "/v1/responses", `{"model":"m","input":"x","background":true,"tools":[{"type":"mcp","server_label":"t",`+
		`"authorization":"s3cret"}]}`)
	if asked := <-f.asked; strings.Contains(asked, "s3cret") || !strings.Contains(asked, `"server_label":"t"`) {
		t.Error(asked)
	}
}
