package exchange

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// sentFor is what a model's server is sent for a Chat request with these members; tags says whether it has structural
// tags.
func sentFor(t *testing.T, tags bool, members string) (prompt, tag string) {
	t.Helper()
	g := testGateway(func(o *Options) {
		o.Models[0].StructuredOutputs = contract.NoStructure
		if tags {
			o.Models[0].StructuredOutputs = contract.StructuralTags
		}
	})
	x := g.Begin("POST", "/v1/chat/completions")
	a := x.Request([]byte(`{"model":"`+testModel+`","messages":[{"role":"user","content":"Hi"}],`+members+`}`),
		Host{Now: testNow, ID: testID})
	if a.Forward == nil {
		t.Fatalf("%s: refused: %s", members, a.Reply.Body)
	}
	var sent struct {
		Prompt     []uint32
		Structured struct {
			Tag string `json:"structural_tag"`
		} `json:"structured_outputs"`
	}
	if err := json.Unmarshal(a.Forward.Body, &sent); err != nil {
		t.Fatal(err)
	}
	return o200k.Tokenizer().DecodeString(sent.Prompt), sent.Structured.Tag
}

const (
	fTool = `{"type":"function","function":{"name":"f","parameters":{"type":"object",` +
		`"properties":{"a":{"const":1.50}}}}}`
	gTool    = `{"type":"function","function":{"name":"g"}}`
	fStrict  = `{"type":"function","function":{"name":"f","strict":true}}`
	aSchema  = `"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{ "x":"\"" }}}`
	named    = `"tool_choice":{"type":"function","function":{"name":"g"}}`
	required = `"tool_choice":"required"`
)

// The parts of a tag, written out once.
const (
	anyText  = `{"type":"any_text","excludes":["<|end|>","<|start|>","<|channel|>","<|message|>","<|call|>"]}`
	thoughts = `{"type":"star","content":{"type":"sequence","elements":[{"type":"const_string","value":"<|channel|>` +
		`analysis<|message|>"},` + anyText +
		`,{"type":"const_string","value":"<|end|><|start|>assistant"}]}}`
	preamble = `{"type":"optional","content":{"type":"sequence","elements":[{"type":"const_string","value":"<|channel|>` +
		`commentary<|message|>"},` + anyText +
		`,{"type":"const_string","value":"<|end|><|start|>assistant"}]}}`
	callHead = `{"type":"sequence","elements":[{"type":"or","elements":[{"type":"const_string","value":"<|channel|>` +
		`commentary to=functions.NAME"},` +
		`{"type":"const_string","value":" to=functions.NAME<|channel|>commentary"}]},{"type":"or",` +
		`"elements":[{"type":"const_string","value":" <|constrain|>json<|message|>"},` +
		`{"type":"const_string","value":" json<|message|>"}]},{"type":"json_schema","json_schema":`
	callEnd   = `},{"type":"optional","content":{"type":"const_string","value":"<|call|>"}}]}`
	finalHead = `{"type":"sequence","elements":[{"type":"const_string","value":"<|channel|>final<|message|>"},`
)

// TestRefusedForms checks what structured_outputs: refuse refuses, and what it lets through without a form.
func TestRefusedForms(t *testing.T) {
	g := testGateway(func(o *Options) { o.Models[0].StructuredOutputs = contract.RefuseStructure })
	for members, code := range map[string]string{
		`"tools":[` + fTool + `]`:                                       "",
		`"tools":[` + fStrict + `]`:                                     "",
		`"response_format":{"type":"text"}`:                             "",
		`"tools":[` + fTool + `],"tool_choice":"none"`:                  "",
		`"tools":[` + gTool + `],` + named:                              contract.CodeToolChoiceNotSupported,
		`"tools":[` + gTool + `],` + required:                           contract.CodeToolChoiceNotSupported,
		aSchema:                                                         contract.CodeUnsupportedParameter,
		`"response_format":{"type":"json_object"}`:                      contract.CodeUnsupportedParameter,
		`"structured_outputs":{"regex":"a"}`:                            contract.CodeUnsupportedParameter,
		`"tools":[` + fTool + `],"structured_outputs":{"choice":["a"]}`: contract.CodeUnsupportedParameter,
	} {
		x := g.Begin("POST", "/v1/chat/completions")
		a := x.Request([]byte(`{"model":"`+testModel+`","messages":[{"role":"user","content":"Hi"}],`+members+`}`),
			Host{Now: testNow, ID: testID})
		switch {
		case code == "" && (a.Forward == nil || strings.Contains(string(a.Forward.Body), "structural_tag")):
			t.Errorf("%s: it is refused, or goes on with a tag: %+v", members, a)
		case code != "" && (a.Reply == nil || !strings.Contains(string(a.Reply.Body), `"`+code+`"`)):
			t.Errorf("%s: it goes on, or is refused otherwise", members)
		}
	}
}

func TestStructuralTags(t *testing.T) {
	call := func(name, schema string) string { return strings.ReplaceAll(callHead, "NAME", name) + schema + callEnd }
	f := call("f", `{"type":"object","properties":{"a":{"const":1.50}}}`)
	g := call("g", noArguments)
	text := finalHead + anyText + "]}"
	pattern := `{"type":"sequence","elements":[{"type":"or","elements":[{"type":"const_string","value":"<|channel|>` +
		`commentary to=functions.p"},` +
		`{"type":"const_string","value":" to=functions.p<|channel|>commentary"}]},{"type":"const_string",` +
		`"value":"<|message|>"},` +
		`{"type":"regex","pattern":"(?:a)[^\\n]"` + callEnd
	schema := finalHead + `{"type":"json_schema","json_schema":{"x":"\""}}]}`
	for _, tt := range []struct {
		members string
		want    []string
	}{
		{`"tools":[` + fTool + `]`, nil}, {`"tools":[` + fTool + `],"tool_choice":"auto"`, nil},
		{`"tools":[` + fStrict + `],"tool_choice":"none"`, nil},
		{`"response_format":{"type":"text"}`, nil},
		{`"tools":[` + fTool + `,` + gTool + `],` + required, []string{f, g}},
		{`"tools":[` + fTool + `,` + gTool + `],` + named, []string{g}},
		{`"tools":[` + fTool + `,` + gTool + `],` + aSchema + `,` + required, []string{f, g}},
		{`"tools":[` + fTool + `],` + aSchema, []string{f, schema}},
		{`"tools":[` + fStrict + `,` + gTool + `]`, []string{call("f", noArguments), g, text}},
		{
			`"tools":[{"type":"custom","custom":{"name":"p","format":{"type":"grammar","grammar":{"syntax":"regex",` +
				`"definition":"(?P<n>a)."}}}}]`, []string{pattern, text},
		},
		{aSchema, []string{schema}}, {`"tools":[` + fTool + `],"tool_choice":"none",` + aSchema, []string{schema}},
		{`"guided_json":"{ \"x\":\"\\\"\" }"`, []string{schema}},
		{`"tools":[` + fTool + `],"structured_outputs":{"json":{"x":"\""}}`, []string{f, schema}},
		{`"structured_outputs":{"regex":"(?P<n>a)."}`, []string{finalHead + `{"type":"regex","pattern":"(?:a)[^\\n]"}]}`}},
		{
			`"structured_outputs":{"choice":["a","\"b\""]}`,
			[]string{finalHead + `{"type":"or","elements":[{"type":"const_string","value":"a"},{"type":"const_string",` +
				`"value":"\"b\""}]}]}`},
		},
		{
			`"tools":[` + gTool + `],"structured_outputs":{"choice":["a"]}`,
			[]string{g, finalHead + `{"type":"or","elements":[{"type":"const_string","value":"a"}]}]}`},
		},
		{`"ebnf":"root ::= \"a\""`, []string{finalHead + `{"type":"grammar","grammar":"root ::= \"a\""}]}`}},
		{`"tools":[` + fTool + `,` + gTool + `],"regex":"a",` + named, []string{g}},
		{
			`"response_format":{"type":"json_object"}`, []string{finalHead + `{"type":"json_schema",` +
				`"json_schema":{"type":"object"}}]}`},
		},
	} {
		prompt, tag := sentFor(t, true, tt.members)
		want := ""
		if tt.want != nil {
			want = `{"type":"structural_tag","format":{"type":"sequence","elements":[` + thoughts + `,` + preamble +
				`,{"type":"or","elements":[` + strings.Join(tt.want, ",") + `]}]}}`
		}
		if tag != want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.members, tag, want)
		}
		if !strings.HasSuffix(prompt, "<|start|>assistant") {
			t.Errorf("%s: prompt %q", tt.members, prompt)
		}
	}
}

func TestWithoutStructuralTags(t *testing.T) {
	for members, end := range map[string]string{
		`"tools":[` + fTool + `,` + gTool + `],` + named: `<|start|>assistant<|channel|>commentary to=functions.g ` +
			`<|constrain|>json<|message|>`,
		`"tools":[` + gTool + `],` + named + `,` + aSchema: `<|start|>assistant<|channel|>commentary to=functions.g ` +
			`<|constrain|>json<|message|>`,
		`"tools":[` + fStrict + `]`: `<|start|>assistant`,
		aSchema:                     `<|start|>assistant`,
		`"tools":[` + fTool + `],"response_format":{"type":"json_object"}`: `<|start|>assistant`,
	} {
		prompt, tag := sentFor(t, false, members)
		if tag != "" || !strings.HasSuffix(prompt, end) {
			t.Errorf("%s: tag %q, prompt %q", members, tag, prompt)
		}
	}
	for members, want := range map[string][2]string{
		`"tools":[` + fTool + `],` + required: {"tool_choice_not_supported", "tool_choice"},
		`"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{}}}`: {
			"unsupported_parameter", "response_format.json_schema.strict",
		},
		`"guided_json":{}`:                   {"unsupported_parameter", "guided_json"},
		`"guided_choice":["a"]`:              {"unsupported_parameter", "guided_choice"},
		`"structured_outputs":{"regex":"a"}`: {"unsupported_parameter", "structured_outputs.regex"},
		`"ebnf":"root ::= x"`:                {"unsupported_parameter", "ebnf"},
	} {
		x := testGateway(nil).Begin("POST", "/v1/chat/completions")
		a := x.Request([]byte(`{"model":"`+testModel+`","messages":[{"role":"user","content":"Hi"}],`+members+`}`),
			Host{Now: testNow, ID: testID})
		var got struct {
			Error struct{ Code, Param, Message string }
		}
		if a.Reply == nil || json.Unmarshal(a.Reply.Body, &got) != nil || a.Reply.Status != 400 {
			t.Fatalf("%s: %+v", members, a)
		}
		if !reflect.DeepEqual([2]string{got.Error.Code, got.Error.Param}, want) ||
			!strings.Contains(got.Error.Message, "vllm") {
			t.Errorf("%s: %+v", members, got)
		}
	}
}

func TestTooManyToolsForATag(t *testing.T) {
	g := testGateway(func(o *Options) {
		o.Models[0].StructuredOutputs = contract.StructuralTags
		o.Models[0].ContextLength = 1 << 20
	})
	for n, want := range map[int]bool{maxCallable: true, maxCallable + 1: false} {
		tools := gTool
		for i := 1; i < n; i++ {
			tools += "," + strings.Replace(gTool, `"g"`, `"g`+strconv.Itoa(i)+`"`, 1)
		}
		body := `{"model":"` + testModel + `","messages":[{"role":"user","content":"Hi"}],` + required + `,"tools":[` +
			tools + `]}`
		a := g.Begin("POST", "/v1/chat/completions").Request([]byte(body), Host{Now: testNow, ID: testID})
		if (a.Forward != nil) != want || !want && !strings.Contains(string(a.Reply.Body),
			`"param":"tools","code":"invalid_value"`) {
			t.Errorf("%d tools: %+v", n, a)
		}
	}
}

// The scratch is the next request's too: what the answer begins with must not change with it.
func TestPrefilledCallKeepsItsHeader(t *testing.T) {
	g, scratch := testGateway(nil), &Scratch{}
	begin := func(members string) *Exchange {
		x := g.Begin("POST", "/v1/chat/completions")
		x.Request([]byte(`{"model":"`+testModel+`","messages":[{"role":"user","content":"Hi"}],`+members+`}`),
			Host{Now: testNow, ID: testID, Scratch: scratch})
		return x
	}
	x := begin(`"tools":[` + fTool + `,` + gTool + `],` + named)
	begin(`"tools":[` + fTool + `]`)
	x.ResponseHeaders(ResponseHead{Status: 200, ContentType: "text/event-stream"})
	a := x.ResponseBody([]byte(serverChunk(0, `{}<|call|>`, "stop")+serverDone), false)
	if want := `"tool_calls":[{"id":"call_` + testID + `_0","type":"function","function":{"name":"g",` +
		`"arguments":"{}"}}]`; !strings.Contains(string(a.Body), want) {
		t.Errorf("got %s", a.Body)
	}
}
