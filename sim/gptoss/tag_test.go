package gptoss

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// wellTag is a tag of all formats: thoughts, perhaps a preamble, then a call or JSON.
const wellTag = `{"type":"structural_tag","format":{"type":"sequence","elements":[
	{"type":"star","content":{"type":"sequence","elements":[{"type":"const_string","value":"<|channel|>analysis<|message|>"},
		{"type":"any_text","excludes":["<|end|>","<|channel|>"]},{"type":"const_string","value":"<|end|><|start|>assistant"}]}},
	{"type":"or","elements":[
		{"type":"sequence","elements":[{"type":"const_string","value":" to=functions.f<|channel|>commentary json<|message|>"},
			{"type":"json_schema","json_schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},
			{"type":"optional","content":{"type":"const_string","value":"<|call|>"}}]},
		{"type":"sequence","elements":[{"type":"const_string","value":"<|channel|>final<|message|>"},{"type":"json_schema","json_schema":true}]}]}]}}`

func TestCheckAnswer(t *testing.T) {
	tag, err := ReadTag([]byte(wellTag))
	if err != nil {
		t.Fatal(err)
	}
	const reasoning, head = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant",
		" to=functions.f<|channel|>commentary json<|message|>"
	for _, tt := range []struct {
		text string
		want string // "" keeps to it
	}{
		{head + `{"n":1}<|call|>`, ""}, {head + `{"n":1}<|return|>`, ""},
		{reasoning + reasoning + head + `{ "n" : 1 }<|call|>`, ""},
		{reasoning + "<|channel|>final<|message|>[1]<|return|>", ""}, {"<|channel|>final<|message|>2.5<|return|>", ""},
		// cut by the limit on tokens
		{reasoning[:40], ""}, {reasoning + head[:20], ""}, {head + `{"n":`, ""}, {reasoning, ""}, {"", ""},
		// what a grammar would not have let through
		{head + `{"n":"x"}<|call|>`, "leaves"}, {head + `{}<|call|>`, "leaves"}, {head + `{"n":1}<|end|>`, "leaves"},
		{head + ` {"n":1}<|call|>`, "leaves"},
		{reasoning + "Hello", "leaves"}, {"<|channel|>final<|message|>Hello<|return|>", "leaves"},
		{"<|channel|>analysis<|message|>a<|channel|>final", "leaves"},
		{"<|channel|>commentary<|message|>", "leaves"}, {reasoning + "<|return|>", "before it is complete"},
		{head + `{"n":<|return|>`, "before it is complete"},
		{"<|return|>", "before it is complete"},
	} {
		err := tag.CheckAnswer(o200k.Tokenizer(), encode(tt.text))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q: got %v, want %q", tt.text, err, tt.want)
		}
	}
}

func TestCheckAnswerPattern(t *testing.T) {
	tag, err := ReadTag(
		[]byte(
			`{"type":"structural_tag","format":{"type":"sequence","elements":[{"type":"const_string","value":"<|message|>"},
		{"type":"regex","pattern":"^(?:\\d{2}|x[^\\n]*)$"},{"type":"optional","content":{"type":"const_string","value":"<|call|>"}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		"<|message|>12<|call|>": true, "<|message|>12<|return|>": true, "<|message|>xyz<|call|>": true, "<|message|>1": true,
		"<|message|>123<|call|>": false, "<|message|>a<|call|>": false, "<|message|>1<|call|>": false,
		"<|message|>x\n<|call|>": false,
	} {
		if err := tag.CheckAnswer(o200k.Tokenizer(), encode(text)); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
