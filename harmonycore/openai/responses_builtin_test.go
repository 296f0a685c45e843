package openai

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

func decodeTools(members string) (*ResponsesRequest, *Error) {
	return decodeResponses([]byte(`{"model":"m","input":"x",` + members + `}`))
}

const builtIns = `"tools":[{"type":"builtin", "name":"browser"},{"type":"function","name":"f"},{"type":"builtin",` +
	`"name":"python","note":1}]`

func TestBuiltIns(t *testing.T) {
	r, err := decodeTools(builtIns)
	if err != nil {
		t.Fatal(err)
	}
	if names(r.Tools) != "browser f python" || !r.Tools[0].BuiltIn || r.Tools[1].BuiltIn || !r.Tools[2].BuiltIn ||
		strings.Join(r.BuiltIns, " ") != "browser python" {
		t.Errorf("tools %+v, %v", r.Tools, r.BuiltIns)
	}
	if want := `[{"type":"builtin","name":"browser"},{"type":"function","description":null,"name":"f","parameters":null,` +
		`"strict":null},{"type":"builtin","name":"python","note":1}]`; r.Echo.Tools != want {
		t.Errorf("echo %s", r.Echo.Tools)
	}
	for _, tt := range []struct {
		choice, tools, echo string
		required            bool
	}{
		{`"none"`, "", `"none"`, false},
		{`{"type":"builtin", "name":"python"}`, "browser f python", `{"type":"builtin","name":"python"}`, true},
		{`{"type":"allowed_tools","mode":"auto","tools":[{"type":"builtin","name":"python"}]}`, "python",
			`{"type":"allowed_tools","mode":"auto","tools":[{"type":"builtin","name":"python"}]}`, false},
	} {
		r, err := decodeTools(builtIns + `,"tool_choice":` + tt.choice)
		if err != nil || names(r.Tools) != tt.tools || r.Echo.ToolChoice != tt.echo || r.Choice.Required != tt.required ||
			strings.Join(r.BuiltIns, " ") != "browser python" {
			t.Errorf("%s: %+v, %v", tt.choice, r, err)
		}
	}
}

func TestBadBuiltIns(t *testing.T) {
	tool := func(name string) string { return `{"type":"builtin","name":"` + name + `"}` }
	for _, tt := range []struct{ members, code, param string }{
		{`"tools":[{"type":"builtin"}]`, contract.CodeMissingParameter, "tools[0].name"},
		{`"tools":[{"type":"builtin","name":1}]`, contract.CodeInvalidType, "tools[0].name"},
		{`"tools":[` + tool("web_search") + `]`, contract.CodeInvalidValue, "tools[0].name"},
		{`"tools":[` + tool("browser.search") + `]`, contract.CodeInvalidValue, "tools[0].name"},
		{`"tools":[` + tool("python") + "," + tool("python") + `]`, contract.CodeInvalidValue, "tools[1].name"},
		{`"tools":[` + tool("python") + `,{"type":"function","name":"python"}]`, contract.CodeInvalidValue, "tools[1].name"},
		{`"tools":[{"type":"custom","name":"python"},` + tool("python") + `]`, contract.CodeInvalidValue, "tools[1].name"},
		{`"tools":[{"type":"namespace","name":"n","tools":[` + tool("python") + `]}]`, contract.CodeInvalidValue,
			"tools[0].tools[0].type"},
		{builtIns + `,"tool_choice":{"type":"builtin"}`, contract.CodeMissingParameter, "tool_choice.name"},
		{builtIns + `,"tool_choice":` + tool("container"), contract.CodeInvalidValue, "tool_choice"},
		{builtIns + `,"tool_choice":{"type":"function","name":"python"}`, contract.CodeInvalidValue, "tool_choice"},
		{builtIns + `,"tool_choice":{"type":"custom","name":"python"}`, contract.CodeInvalidValue, "tool_choice"},
		{builtIns + `,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"custom","name":"python"}]}`,
			contract.CodeInvalidValue, "tool_choice"},
	} {
		_, err := decodeTools(tt.members)
		checkError(t, tt.members, err, 400, tt.code, tt.param)
	}
	_, err := decodeTools(`"tools":[` + tool("web_search") + `]`)
	if err == nil || !strings.Contains(err.Message, "'browser', 'container', and 'python'") {
		t.Errorf("got %v", err)
	}
	// The function of that name is a namespace's: its calls have another full name.
	r, err := decodeTools(`"tools":[` + tool("python") + `,{"type":"namespace","name":"n","tools":[{"type":"function",` +
		`"name":"python"}]}]`)
	if err != nil || len(r.Tools) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = decodeWith(`"tools":[` + tool("python") + `]`)
	checkError(t, "in Chat", err, 400, contract.CodeInvalidValue, "tools[0].type")
}
