package translate

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// summary returns a constraint on one line.
func summary(c *Constraint) string {
	var b strings.Builder
	if c.Forced {
		b.WriteString("forced")
	}
	if c.Named {
		b.WriteString(" named")
	}
	for _, call := range c.Calls {
		b.WriteString(" " + strings.TrimPrefix(call.Recipient, "functions."))
		if call.Parameters != nil {
			b.WriteString("()")
		}
	}
	if c.Schema != "" {
		b.WriteString(" | " + c.Schema + c.StrictAt)
	}
	return b.String()
}

func TestConstraints(t *testing.T) {
	const tools = `"tools":[{"type":"function","name":"f","parameters":{}},{"type":"namespace","name":"n",` +
		`"tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}]}]`
	const strict = `"tools":[{"type":"function","name":"f","strict":true},{"type":"function","name":"g"}]`
	const format = `"text":{"format":{"type":"json_schema","name":"n","strict":true,"schema":{"a":1}}}`
	const own = `"tools":[{"type":"builtin","name":"browser"},{"type":"function","name":"f"},{"type":"builtin",` +
		`"name":"python"}]`
	for _, tt := range []struct{ members, want string }{
		{own, ""}, {`"tool_choice":"required",` + own, "forced browser.search() browser.open() browser.find() f python"},
		{`"tool_choice":{"type":"builtin","name":"browser"},` + own,
			"forced named browser.search() browser.open() browser.find()"},
		{`"tool_choice":{"type":"builtin","name":"python"},` + own, "forced named python"},
		{`"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"builtin","name":"python"},` +
			`{"type":"function","name":"f"}]},` + own, "forced f python"},
		{format + "," + own, ` browser.search() browser.open() browser.find() f python | {"a":1}text.format.strict`},
		{tools, ""}, {`"tool_choice":"required",` + tools, "forced f() n__f g"},
		{`"tool_choice":{"type":"function","name":"g"},` + tools, "forced named g"},
		{`"tool_choice":{"type":"function","name":"f"},` + tools, "forced named f()"},
		{`"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"g"}]},` + tools,
			"forced g"},
		{format, ` | {"a":1}text.format.strict`}, {format + "," + tools, ` f() n__f g | {"a":1}text.format.strict`},
		{format + `,"tool_choice":"required",` + tools, "forced f() n__f g"},
		{strict, " f g"}, {`"tool_choice":"none",` + strict, ""},
		{`"tool_choice":"none",` + format + "," + strict, ` | {"a":1}text.format.strict`},
	} {
		body, err := openai.Open([]byte(`{"model":"m","input":"hi",` + tt.members + `}`))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Responses(body, testModel, testEnv)
		if err != nil {
			t.Fatalf("%s: %v", tt.members, err)
		}
		if got := summary(&r.Constraint); got != tt.want || r.Constraint.Free() != (tt.want == "") {
			t.Errorf("%s: got %q, want %q", tt.members, got, tt.want)
		}
	}
}

// TestFormatText checks that the form of the answer is a text of its own at the end of the developer message.
func TestFormatText(t *testing.T) {
	const format = `"response_format":{"type":"json_schema","json_schema":{"name":"n","description":"a\r\nb\n\nc",` +
		`"schema":{ "x" : 1 }}}`
	const section = "# Response Formats\n\n## n\n\n// a\n// b\n// \n// c\n{\"x\":1}\n"
	for _, tt := range []struct{ members, want string }{
		{`"messages":[{"role":"user","content":"hi"}],` + format, "developer: " + section},
		{`"messages":[{"role":"system","content":"do"},{"role":"user","content":"hi"}],` + format,
			"developer: {do}+\n\n" + section},
		{`"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}],` + format,
			"developer: { functions=functions[ f ]}+\n\n" + section},
	} {
		body, err := openai.Open([]byte(`{"model":"m",` + tt.members + `}`))
		if err != nil {
			t.Fatal(err)
		}
		r, err := Chat(body, testModel, testEnv)
		if err != nil {
			t.Fatal(err)
		}
		if got := dump(&r.Conversation); !strings.Contains(got, "\n"+tt.want) {
			t.Errorf("got\n%s\nwant\n%s", got, tt.want)
		}
	}
}
