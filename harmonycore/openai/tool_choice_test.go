package openai

import (
	"reflect"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

const twoTools = `"tools":[{"type":"function","function":{"name":"f","strict":true}},{"type":"function",` +
	`"function":{"name":"g","strict":null}}]`

// decodeWith decodes a Chat body with these members.
func decodeWith(members string) (*ChatRequest, *Error) {
	return decodeChat([]byte(`{"model":"m","messages":[{"role":"user","content":"x"}],` + members + `}`))
}

func names(tools []Tool) string {
	var list []string
	for _, t := range tools {
		list = append(list, t.Name)
	}
	return strings.Join(list, " ")
}

func TestToolChoice(t *testing.T) {
	allow := func(mode string, names ...string) string {
		var tools []string
		for _, n := range names {
			tools = append(tools, `{"type":"function","function":{"name":"`+n+`"}}`)
		}
		return `{"type":"allowed_tools","allowed_tools":{"mode":"` + mode + `","tools":[` + strings.Join(tools, ",") + `]}}`
	}
	for _, tt := range []struct {
		choice   string
		shown    string
		required bool
		function string
	}{
		{`null`, "f g", false, ""}, {`"auto"`, "f g", false, ""}, {`"none"`, "", false, ""}, {`"required"`, "f g", true, ""},
		{`{"type":"function","function":{"name":"g"}}`, "f g", true, "g"},
		{`{"function":{"name":"f"},"type":"function"}`, "f g", true, "f"},
		{allow("auto", "g"), "g", false, ""}, {allow("required", "g", "f", "g"), "f g", true, ""},
	} {
		// The choice may come before or after the tools that it names.
		for _, members := range []string{`"tool_choice":` + tt.choice + `,` + twoTools,
			twoTools + `,"tool_choice":` + tt.choice} {
			r, err := decodeWith(members)
			if err != nil {
				t.Errorf("%s: %v", members, err)
				continue
			}
			if names(r.Tools) != tt.shown || r.Choice.Required != tt.required || r.Choice.Name != tt.function {
				t.Errorf("%s: shown %q, %+v", members, names(r.Tools), r.Choice)
			}
		}
	}
	if r, err := decodeWith(twoTools); err != nil || !r.Tools[0].Strict || r.Tools[1].Strict {
		t.Errorf("strict: %+v, %v", r, err)
	}
	many := strings.Repeat(`{"type":"function","function":{"name":"f"}},`, 2000)
	for _, tt := range []struct{ choice, code, param string }{
		{`"any"`, contract.CodeInvalidValue, "tool_choice"}, {`1`, contract.CodeInvalidType, "tool_choice"},
		{`[]`, contract.CodeInvalidType, "tool_choice"},
		{`{}`, contract.CodeMissingParameter, "tool_choice.type"},
		{`{"type":1}`, contract.CodeInvalidType, "tool_choice.type"},
		{`{"type":"web_search"}`, contract.CodeInvalidValue, "tool_choice.type"},
		{`{"type":"function"}`, contract.CodeMissingParameter, "tool_choice.function"},
		{`{"type":"function","name":"f"}`, contract.CodeMissingParameter, "tool_choice.function"},
		{`{"type":"function","function":{}}`, contract.CodeMissingParameter, "tool_choice.function.name"},
		{`{"type":"function","function":{"name":"a b"}}`, contract.CodeInvalidValue, "tool_choice.function.name"},
		{`{"type":"function","function":{"name":"h"}}`, contract.CodeInvalidValue, "tool_choice"},
		{`{"type":"allowed_tools"}`, contract.CodeMissingParameter, "tool_choice.allowed_tools"},
		{`{"type":"allowed_tools","allowed_tools":{"tools":[]}}`, contract.CodeMissingParameter,
			"tool_choice.allowed_tools.mode"},
		{`{"type":"allowed_tools","allowed_tools":{"mode":"auto"}}`, contract.CodeMissingParameter,
			"tool_choice.allowed_tools.tools"},
		{allow("none", "f"), contract.CodeInvalidValue, "tool_choice.allowed_tools.mode"},
		{allow("auto"), contract.CodeInvalidValue, "tool_choice"},
		{allow("auto", "h"), contract.CodeInvalidValue, "tool_choice"},
		{allow("auto", "f", "h"), contract.CodeInvalidValue, "tool_choice"},
		{`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"mcp"}]}}`, contract.CodeInvalidValue,
			"tool_choice.allowed_tools.tools[0].type"},
		{`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function"}]}}`,
			contract.CodeMissingParameter, "tool_choice.allowed_tools.tools[0].function"},
		{`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[` + many + `{}]}}`, contract.CodeInvalidValue,
			"tool_choice"},
	} {
		_, err := decodeWith(`"tool_choice":` + tt.choice + `,` + twoTools)
		checkError(t, tt.choice, err, 400, tt.code, tt.param)
	}
	for _, choice := range []string{`"required"`, `{"type":"function","function":{"name":"f"}}`} {
		_, err := decodeWith(`"tool_choice":` + choice)
		checkError(t, choice, err, 400, contract.CodeInvalidValue, "tool_choice")
	}
}

// TestToolChoiceKinds checks that a name chooses only tools of its kind, function or custom tool.
func TestToolChoiceKinds(t *testing.T) {
	const function = `{"type":"function","function":{"name":"f"}}`
	const custom = `{"type":"custom","custom":{"name":"f"}}`
	const other = `{"type":"custom","custom":{"name":"g"}}`
	allow := func(tools string) string {
		return `{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[` + tools + `]}}`
	}
	for _, tt := range []struct {
		tools, choice string
		code          string
		shown         int
	}{
		{function, function, "", 1}, {custom, custom, "", 1}, {function + "," + other, other, "", 2},
		{function, custom, contract.CodeInvalidValue, 0}, {custom, function, contract.CodeInvalidValue, 0},
		{function, allow(function), "", 1}, {function + "," + other, allow(other), "", 1},
		{other + "," + function, allow(other + "," + function), "", 2},
		{function, allow(custom), contract.CodeInvalidValue, 0}, {custom, allow(function), contract.CodeInvalidValue, 0},
		{function + "," + other, allow(function + "," + custom), contract.CodeInvalidValue, 0},
	} {
		members := `"tools":[` + tt.tools + `],"tool_choice":` + tt.choice
		r, err := decodeWith(members)
		checkError(t, members, err, 400, tt.code, "tool_choice")
		if err == nil && len(r.Tools) != tt.shown {
			t.Errorf("%s: shown %+v", members, r.Tools)
		}
	}
	r, err := decodeWith(`"tools":[` + function + "," + other + `],"tool_choice":` + allow(other))
	if err != nil || !r.Tools[0].Custom {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTextFormat(t *testing.T) {
	for in, want := range map[string]TextFormat{
		`null`: {}, `{"type":"text"}`: {},
		`{"type":"json_object"}`: {Name: "json_object", Schema: `{"type":"object"}`},
		`{"type":"json_schema","json_schema":{"name":"a-1","schema":{ "b" : 1.50, "a":"\u0041 b" }}}`: {
			Name: "a-1", Schema: `{"b":1.50,"a":"\u0041 b"}`},
		`{"json_schema":{"name":"n","description":"d\ne","strict":true,"schema":{}},"type":"json_schema"}`: {
			Name: "n", Description: "d\ne", Schema: `{}`, StrictAt: "response_format.json_schema.strict"},
		`{"type":"json_schema","json_schema":{"name":"n","strict":null,"schema":{}}}`: {Name: "n", Schema: `{}`},
	} {
		r, err := decodeWith(`"response_format":` + in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if !reflect.DeepEqual(r.Format, want) {
			t.Errorf("%s: got %+v", in, r.Format)
		}
	}
	schema := func(s string) string { return `{"type":"json_schema","json_schema":{"name":"n","schema":` + s + `}}` }
	deep := strings.Repeat(`{"a":`, MaxSchemaDepth) + "1" + strings.Repeat("}", MaxSchemaDepth)
	if _, err := decodeWith(`"response_format":` + schema(deep)); err != nil {
		t.Errorf("%v", err)
	}
	for _, tt := range []struct{ in, code, param string }{
		{`1`, contract.CodeInvalidType, "response_format"}, {`"text"`, contract.CodeInvalidType, "response_format"},
		{`{}`, contract.CodeMissingParameter, "response_format.type"},
		{`{"type":"xml"}`, contract.CodeInvalidValue, "response_format.type"},
		{`{"type":"json_schema"}`, contract.CodeMissingParameter, "response_format.json_schema"},
		{`{"type":"json_schema","json_schema":1}`, contract.CodeInvalidType, "response_format.json_schema"},
		{`{"type":"json_schema","json_schema":{"schema":{}}}`, contract.CodeMissingParameter,
			"response_format.json_schema.name"},
		{`{"type":"json_schema","json_schema":{"name":"a b","schema":{}}}`, contract.CodeInvalidValue,
			"response_format.json_schema.name"},
		{`{"type":"json_schema","json_schema":{"name":"` + strings.Repeat("n", 65) + `","schema":{}}}`,
			contract.CodeInvalidValue, "response_format.json_schema.name"},
		{`{"type":"json_schema","json_schema":{"name":"n"}}`, contract.CodeMissingParameter,
			"response_format.json_schema.schema"},
		{`{"type":"json_schema","json_schema":{"name":"n","schema":{},"strict":1}}`, contract.CodeInvalidType,
			"response_format.json_schema.strict"},
		{`{"type":"json_schema","json_schema":{"name":"n","schema":{},"description":1}}`, contract.CodeInvalidType,
			"response_format.json_schema.description"},
		{schema(`true`), contract.CodeInvalidType, "response_format.json_schema.schema"},
		{schema(`{"a":` + deep + `}`), contract.CodeMaxDepthExceeded, "response_format.json_schema.schema"},
		{schema(`{"a":"` + strings.Repeat("x", maxFormat) + `"}`), contract.CodeInvalidValue, "response_format"},
	} {
		_, err := decodeWith(`"response_format":` + tt.in)
		checkError(t, tt.in[:min(len(tt.in), 200)], err, 400, tt.code, tt.param)
	}
}

// TestResponsesChoiceAndFormat checks the same for the Responses API, which does not nest these objects and repeats
// them in its answer.
func TestResponsesChoiceAndFormat(t *testing.T) {
	decode := func(members string) (*ResponsesRequest, *Error) {
		return decodeResponses([]byte(`{"model":"m","input":"x","tools":[{"type":"function","name":"f"},` +
			`{"type":"function","name":"g","strict":true},{"type":"custom","name":"c"}],` + members + `}`))
	}
	r, err := decode(`"tool_choice":{"type":"function", "name":"g"},"text":{"format":{"type":"json_schema","name":"n",` +
		`"strict":true,"schema":{"a": 1}}}`)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Choice.Required || r.Choice.Name != "g" || len(r.Tools) != 3 || !r.Tools[1].Strict ||
		r.Echo.ToolChoice != `{"type":"function","name":"g"}` {
		t.Errorf("choice %+v, tools %+v, echo %s", r.Choice, r.Tools, r.Echo.ToolChoice)
	}
	want := TextFormat{Name: "n", Schema: `{"a":1}`, StrictAt: "text.format.strict"}
	if !reflect.DeepEqual(r.Format, want) ||
		r.Echo.TextFormat != `{"type":"json_schema","name":"n","strict":true,"schema":{"a":1}}` {
		t.Errorf("format %+v, echo %s", r.Format, r.Echo.TextFormat)
	}
	r, err = decode(`"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"f"}]}`)
	if err != nil || names(r.Tools) != "f" || !r.Choice.Required {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = decode(`"tool_choice":{"type":"custom","name":"c"}`)
	if err != nil || !r.Choice.Required || !r.Choice.Custom || r.Choice.Name != "c" ||
		r.Echo.ToolChoice != `{"type":"custom","name":"c"}` {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = decode(`"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"custom","name":"c"},` +
		`{"type":"function","name":"f"}]}`)
	if err != nil || names(r.Tools) != "f c" || r.Choice.Required {
		t.Errorf("%+v, %v", r, err)
	}
	// Chat's form is accepted too, and echoed in the form of Responses.
	for members, echo := range map[string]string{
		`"tool_choice":{"type":"function","function":{"name":"f"}}`:           `{"type":"function","name":"f"}`,
		`"tool_choice":{"type":"function","function":{},"name":"f"}`:          `{"type":"function","name":"f"}`,
		`"tool_choice":{"custom":{"name":"c"},"type":"custom"}`:               `{"type":"custom","name":"c"}`,
		`"tool_choice":{ "name": "f", "type": "function" , "function": null}`: `{"type":"function","name":"f"}`,
	} {
		r, err = decode(members)
		if err != nil || !r.Choice.Required || r.Choice.Name == "" || r.Echo.ToolChoice != echo {
			t.Errorf("%s: %+v, %v", members, r, err)
		}
	}
	if r, err = decode(`"tool_choice":"none"`); err != nil || r.Tools != nil || r.Echo.ToolChoice != `"none"` {
		t.Errorf("%+v, %v", r, err)
	}
	for _, tt := range []struct{ members, code, param string }{
		{`"tool_choice":{"type":"function"}`, contract.CodeMissingParameter, "tool_choice.name"},
		{`"tool_choice":{"type":"function","function":{}}`, contract.CodeMissingParameter, "tool_choice.function.name"},
		{`"tool_choice":{"type":"function","function":{"name":"h"}}`, contract.CodeInvalidValue, "tool_choice"},
		{`"tool_choice":{"type":"custom"}`, contract.CodeMissingParameter, "tool_choice.name"},
		{`"tool_choice":{"type":"custom","name":"f"}`, contract.CodeInvalidValue, "tool_choice"},
		{`"tool_choice":{"type":"function","name":"c"}`, contract.CodeInvalidValue, "tool_choice"},
		{`"tool_choice":{"type":"file_search"}`, contract.CodeUnsupportedParameter, "tool_choice.type"},
		{`"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"h"}]}`,
			contract.CodeInvalidValue, "tool_choice"},
		{`"text":{"format":{"type":"json_schema"}}`, contract.CodeMissingParameter, "text.format.name"},
		{`"text":{"format":{"type":"json_schema","name":"n"}}`, contract.CodeMissingParameter, "text.format.schema"},
	} {
		_, err := decode(tt.members)
		checkError(t, tt.members, err, 400, tt.code, tt.param)
	}
}

// TestToolsOfOneName checks that two tools of the same name are refused, whatever their kinds: the model could call
// only one of them.
func TestToolsOfOneName(t *testing.T) {
	const function, custom = `{"type":"function","function":{"name":"f"}}`, `{"type":"custom","custom":{"name":"f"}}`
	for tools, param := range map[string]string{
		function + "," + function: "tools[1].function.name", function + "," + custom: "tools[1].custom.name",
		custom + "," + function: "tools[1].function.name",
	} {
		_, err := decodeWith(`"tools":[` + tools + `]`)
		checkError(t, tools, err, 400, contract.CodeInvalidValue, param)
	}
	const flat, text, shell = `{"type":"function","name":"f"}`, `{"type":"custom","name":"f"}`, `{"type":"local_shell"}`
	group := func(name, tools string) string {
		return `{"type":"namespace","name":"` + name + `","tools":[` + tools + `]}`
	}
	for tools, param := range map[string]string{
		flat + "," + flat: "tools[1].name", flat + "," + text: "tools[1].name", text + "," + flat: "tools[1].name",
		group("n", flat+","+text):                           "tools[0].tools[1].name",
		group("n", flat) + "," + group("n", flat):           "tools[1].tools[0].name",
		shell + `,{"type":"function","name":"local_shell"}`: "tools[1].name",
		`{"type":"custom","name":"local_shell"},` + shell:   "tools[1].type",
	} {
		_, err := decodeShellTools(`"tools":[` + tools + `]`)
		checkError(t, tools, err, 400, contract.CodeInvalidValue, param)
	}
	if r, err := decodeShellTools(`"tools":[` + flat + "," + group("n", flat) + "," + group("m", text) + "," + shell +
		"," + shell + `]`); err != nil || len(r.Tools) != 4 {
		t.Errorf("%+v, %v", r, err)
	}
}
