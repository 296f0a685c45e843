package openai

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

func decodeShellTools(members string) (*ResponsesRequest, *Error) {
	body, err := Open([]byte(`{"model":"m","input":"x",` + members + `}`))
	if err != nil {
		return nil, err
	}
	return DecodeResponsesRequest(body)
}

func TestLocalShellTool(t *testing.T) {
	const tools = `"tools":[{"type":"local_shell"},{"type":"function","name":"f"},{"type":"local_shell","x":1}]`
	for choice, shown := range map[string]string{
		`"auto"`: "local_shell f", `"none"`: "", `{"type":"function","name":"local_shell"}`: "local_shell f",
		`{"type":"allowed_tools","mode":"auto","tools":[{"type":"local_shell"}]}`:         "local_shell",
		`{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}`: "f",
	} {
		r, err := decodeShellTools(tools + `,"tool_choice":` + choice)
		if err != nil {
			t.Fatalf("%s: %v", choice, err)
		}
		if names(r.Tools) != shown || strings.Count(r.Echo.Tools, typeLocalShell) != 1 {
			t.Errorf("%s: %q is shown, %s repeated", choice, names(r.Tools), r.Echo.Tools)
		}
		if named := strings.Contains(choice, `"name":"local_shell"`); r.Choice.Required != named ||
			(r.Choice.Name != "") != named {
			t.Errorf("%s: %+v", choice, r.Choice)
		}
	}
	if r, _ := decodeShellTools(tools); string(r.Tools[0].Parameters) != localShellSchema || !r.Tools[0].LocalShell {
		t.Errorf("it is declared as %+v", r.Tools[0])
	}
	for members, param := range map[string]string{
		`"tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":"local_shell"}`: "tool_choice",
		`"tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"allowed_tools","mode":"auto",` +
			`"tools":[{"type":"local_shell"}]}`: "tool_choice",
		`"tools":[{"type":"namespace","name":"n","tools":[{"type":"local_shell"}]}]`: "tools[0].tools[0].type",
	} {
		_, err := decodeShellTools(members)
		checkError(t, members, err, 400, contract.CodeInvalidValue, param)
	}
	_, err := decodeShellTools(tools + `,"tool_choice":{"type":"local_shell"}`)
	checkError(t, "a choice that the API has not", err, 400, contract.CodeUnsupportedParameter, "tool_choice.type")
	_, err = decodeWith(`"tool_choice":{"type":"local_shell"},` + twoTools)
	checkError(t, "a local shell in Chat", err, 400, contract.CodeInvalidValue, "tool_choice.type")
}

func TestLocalShellAction(t *testing.T) {
	rest := `"timeout_ms":null,"user":null,"working_directory":null}`
	for arguments, want := range map[string]string{
		` { "command": [ "ls", "a  b" ] } `:                                                      `{"type":"exec","command":["ls","a  b"],"env":{},` + rest,
		`{"type":"exec","command":["\u00e9"],"env":null,"user":null}`:                            `{"type":"exec","command":["\u00e9"],"env":{},` + rest,
		`{"command":["a"],"env":{"B": "c"},"timeout_ms":10,"user":"u","working_directory":"/w"}`: `{"type":"exec","command":["a"],"env":{"B":"c"},"timeout_ms":10,"user":"u","working_directory":"/w"}`,
	} {
		if got, ok := LocalShellAction(nil, []byte(arguments)); !ok || string(got) != want {
			t.Errorf("%s: %v %s", arguments, ok, got)
		}
	}
	for _, arguments := range []string{
		``, `{`, `[]`, `"ls"`, `{}`, `{"command":["ls"]`, `{"command":["ls"]} {}`, `{"command":null}`, `{"command":"ls"}`,
		`{"command":[]}`,
		`{"command":["ls",null]}`, `{"command":["ls",1]}`, `{"command":["ls"],"cwd":"/"}`, `{"command":["ls"],"type":"run"}`,
		`{"command":["ls"],"env":{"A":1}}`, `{"command":["ls"],"env":[]}`, `{"command":["ls"],"timeout_ms":"1"}`,
		`{"command":["ls"],"timeout_ms":1.5}`,
		`{"command":["ls"],"timeout_ms":-1}`, `{"command":["a"],"command":["b"]}`, `{"command":["a"],"user":"b","user":"c"}`,
		`{"command":["ls"],"user":1}`, `{"command":["ls"],"working_directory":[]}`, "{\"command\":[\"\xff\"]}",
	} {
		if got, ok := LocalShellAction([]byte("x"), []byte(arguments)); ok || string(got) != "x" {
			t.Errorf("%s is an action: %s", arguments, got)
		}
	}
}
