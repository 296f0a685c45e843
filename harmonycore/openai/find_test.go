package openai

import (
	"bytes"
	"strings"
	"testing"
)

// TestFindText: the first text counts, a key too, only where prompts are made from it, and however it is escaped.
func TestFindText(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{`{"model":"m","messages":[{"role":"user","content":"a"},{"content":[{"type":"text","text":"<X>"}]}]}`,
			"messages[1].content[0].text"},
		{`{"model":"m","messages":[{"content":"\u003cX>"},{"content":"<X>"}]}`, "messages[0].content"},
		{`{"model":"m","input":"a<X>b"}`, "input"},
		{`{"model":"m","instructions":"<X>","input":"a"}`, "instructions"},
		{`{"model":"m","metadata":{"a":"<X>"},"user":"<X>","messages":[]}`, ""},
		{`{"model":"m","system":[{"text":"<X>"}],"messages":[]}`, "system[0].text"},
		{`{"model":"m","output_config":{"format":{"schema":{"<X>":1}}},"messages":[]}`, "output_config.format.schema"},
		{`{"<X>":1,"model":"m","input":"a"}`, ""},
		{`{"model":"m","tools":[1,[2,{"x":[]}],{"function":{"parameters":{"properties":{"a":{},"<X>":{}}}}}]}`,
			"tools[2].function.parameters.properties"},
		{`{"model":"m","tools":[{"a,[{":"\"<X>"}]}`, "tools[0].a,[{"},
		{`{"model":"m", "input" : [ { "a" : 1 , "b" : [ true, null, -1.5e3, "<X>" ] } ] }`, "input[0].b[3]"},
		{`{"model":"m","input":"<x>"}`, ""},
		{`{"model":"m","input":` + strings.Repeat("[", 120) + `"<X>"` + strings.Repeat("]", 120) + `}`,
			"input" + strings.Repeat("[0]", 120)},
	} {
		body, failure := Open([]byte(tt.body))
		if failure != nil {
			t.Fatalf("%s: %+v", tt.body, failure)
		}
		if got := body.FindText(func(text []byte) bool { return bytes.Contains(text, []byte("<X>")) }); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.body, got, tt.want)
		}
	}
}

// FuzzFindText: no body makes it fail, and what is in a prompted string is found.
func FuzzFindText(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"a":["b",{"c":"<X>"}],"d":"\u003cX>"}],"x":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		body, failure := Open(data)
		if failure != nil {
			return
		}
		param := body.FindText(func(text []byte) bool { return bytes.Contains(text, []byte("<X>")) })
		if param != "" && !bytes.Contains(data, []byte("X")) {
			t.Fatalf("%q: found at %q", data, param)
		}
	})
}
