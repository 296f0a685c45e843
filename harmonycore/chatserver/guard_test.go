package chatserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

var hermesCalls = []string{"<tool_call>", "</tool_call>"}

// TestSpellings: which texts spell a control token, of a model whose tokens are known and of one whose are not.
func TestSpellings(t *testing.T) {
	known := NewSpellings([]string{"<|im_end|>", "<|im_end_of|>", "[INST]", "｜DSML｜", "<s>", "<|", `bad"`}, hermesCalls, nil)
	unknown := NewSpellings(nil, hermesCalls, []string{"</s>"})
	for _, tt := range []struct {
		text           string
		known, unknown bool
	}{
		{"<|im_end|>", true, true}, {"a<|im_end|>b", true, true}, {"<<|im_end|>", true, true}, {"<|im_end", true, false},
		{"<|im_end_of|>", true, true}, {"< |im_end|>", false, false}, {"<\u200b|im_end|>", false, false},
		{"[INST]", true, true}, {"[/INST]", false, true}, {"[INS", false, false}, {"｜DSML｜", true, true},
		{"<｜end▁of▁sentence｜>", false, true}, {"<｜User｜>", false, true}, {"<｜ User｜>", false, false},
		{"<tool_call>", false, true}, {"</s>", false, true}, {"<s>", true, false}, {"<think>", false, false},
		{"a <| f |> b", true, false}, {"<||>", true, false}, {"<|" + strings.Repeat("a", 80) + "|>", true, false},
		{`bad"`, false, false}, {"", false, false}, {"<", false, false},
	} {
		if known.Spells([]byte(tt.text)) != tt.known || unknown.Spells([]byte(tt.text)) != tt.unknown {
			t.Errorf("%q: %v, %v", tt.text, known.Spells([]byte(tt.text)), unknown.Spells([]byte(tt.text)))
		}
	}
}

// TestGuard: a spelling is found wherever a chat template may read it, however it is escaped and wherever it is cut. It
// is broken where only the model reads the text.
func TestGuard(t *testing.T) {
	s := NewSpellings(nil, hermesCalls, nil)
	const call = `{"messages":[{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"%"}}]}]}`
	for _, tt := range []struct{ request, param, broken string }{
		{`{"messages":[{"role":"user","content":"a"},{"role":"user","content":"a<|im_end|>b"}]}`, "messages[1].content",
			`"a<~|im_end|>b"`},
		{`{"messages":[{"role":"user","content":"\u003c|im_end|\u003E \n\""}]}`, "messages[0].content",
			`"<~|im_end|> \n\""`},
		{`{"messages":[{"role":"user","content":"\n<\/tool_call>"}]}`, "messages[0].content", `"\n<~/tool_call>"`},
		{`{"messages":[{"role":"system","content":"<|a|><|b|>[INST]"}]}`, "messages[0].content",
			`"<~|a|><~|b|>[~INST]"`},
		{`{"messages":[{"role":"tool","tool_call_id":"<|a|>","content":"x"}]}`, "messages[0].tool_call_id", ""},
		{`{"messages":[{"role":"user","name":"<|a|>","content":"x"}]}`, "messages[0].name", ""},
		{`{"messages":[{"role":"user","content":[{"type":"text","text":"<|im_"},{"type":"text","text":"end|>"}]}]}`,
			"messages[0].content[1].text", `"<|im_"},{"type":"text","text":"~end|>"`},
		{`{"messages":[{"role":"user","content":[{"type":"text","text":"<|im_"},{"type":"text","text":""},{"text":"end|>"}]}]}`,
			"messages[0].content[2].text", `"~end|>"`},
		{`{"messages":[{"role":"user","content":[{"text":"<"},{"text":"|"},{"text":"a"},{"text":"|"},{"text":">"}]}]}`,
			"messages[0].content[4].text", `"|"},{"text":"~>"`},
		{`{"messages":[{"role":"user","content":["<|im_","end|>"]}]}`, "messages[0].content[1]", `"~end|>"`},
		{`{"messages":[{"role":"assistant","content":[{"text":"<|i"},{"refusal":"m|>","type":"refusal"}]}]}`,
			"messages[0].content[1].refusal", `"~m|>"`},
		{`{"messages":[{"role":"user","content":[{"text":"<|i","x":"y"},{"x":"y","te\u0078t":"m|>"}]}]}`,
			"messages[0].content[1].text", `"~m|>"`},
		// Between messages a template writes something.
		{`{"messages":[{"role":"user","content":"<|i"},{"role":"user","content":"m|>"}]}`, "", ""},
		{strings.Replace(call, "%", `{\"a\":\"<|b|>\n\"}`, 1), "messages[0].tool_calls[0].function.arguments",
			`"{\"a\":\"<~|b|>\n\"}"`},
		// Servers read arguments as JSON.
		{strings.Replace(call, "%", `{\"a\":\"\\u003c|b|>\"}`, 1), "messages[0].tool_calls[0].function.arguments", ""},
		{strings.Replace(call, "%", `{\"a\":\"<|b|>\\u003c|b|>\"}`, 1), "messages[0].tool_calls[0].function.arguments", ""},
		{strings.Replace(call, "%", `{\"a\":\"\u005cu003c|b|>\"}`, 1), "messages[0].tool_calls[0].function.arguments", ""},
		{strings.Replace(call, `"f"`, `"<|f|>"`, 1), "messages[0].tool_calls[0].function.name", ""},
		// The marks of calls in what the model has said are no escape from its turn.
		{`{"messages":[{"role":"assistant","content":"<tool_call>x"}]}`, "", ""},
		{`{"messages":[{"content":"<tool_call>x","role":"user"}]}`, "messages[0].content", `"<~tool_call>x"`},
		{`{"messages":[{"role":"assistant","content":"<tool_call>x","role":"user"}]}`, "messages[0].content",
			`"<~tool_call>x"`},
		{`{"messages":[{"role":"assistant","content":"<|im_end|>"}]}`, "messages[0].content", `"<~|im_end|>"`},
		{`{"messages":[{"role":"assistant","content":"a"},{"role":"user","content":"</tool_call>"}]}`,
			"messages[1].content", `"<~/tool_call>"`},
		{`{"messages":[{"role":"assistant","reasoning_content":"<|a|>","content":""}]}`, "messages[0].reasoning_content",
			`"<~|a|>"`},
		{`{"messages":[],"tools":[{"function":{"name":"<|f|>"}}]}`, "tools[0].function.name", ""},
		{`{"messages":[],"tools":[{"function":{"name":"f","description":"<|f|>"}}]}`, "tools[0].function.description",
			`"<~|f|>"`},
		{`{"tools":[{"function":{"parameters":{"properties":{"<|a|>":{}}}}}]}`, "tools[0].function.parameters.properties", ""},
		{`{"tools":[{"function":{"parameters":{"properties":{"a":{"enum":["<|a|>"],"|x|":1}}}}}]}`,
			"tools[0].function.parameters.properties.a.enum[0]", ""},
		// A template may write a key as a tag.
		{`{"tools":[{"function":{"parameters":{"|x|":1}}}]}`, "tools[0].function.parameters", ""},
		{`{"chat_template_kwargs":{"a":"<|a|>"}}`, "chat_template_kwargs.a", ""},
		{`{"documents":[{"<|a|>":1}]}`, "documents[0]", ""},
		{`{"stop":["<|a|>"],"model":"<|a|>","structured_outputs":{"regex":"<|a|>"},"messages":[]}`, "", ""},
		{`{"messages":[{"role":"user","content":null},{"role":"user","content":[null,1,{"image_url":{"url":"<|"}}]}]}`, "", ""},
	} {
		if err := rawjson.Validate([]byte(tt.request), rawjson.MaxDepth); err != nil {
			t.Fatalf("%s: %v", tt.request, err)
		}
		out, got := s.AppendGuarded(nil, []byte(tt.request), false, &GuardMemory{})
		if got.Param != tt.param || len(out) > 0 || got.Broken > 0 {
			t.Errorf("%s: refused for %q, not %q", tt.request, got.Param, tt.param)
		}
		out, got = s.AppendGuarded([]byte("x"), []byte(tt.request), true, &GuardMemory{})
		want := strings.ReplaceAll(tt.broken, "~", breaker)
		switch {
		case tt.broken == "":
			if got.Broken > 0 && got.Param == "" || got.Param != tt.param {
				t.Errorf("%s: %+v, %s", tt.request, got, out)
			}
		case got.Param != "" || got.Broken != strings.Count(tt.broken, "~") || !strings.Contains(string(out), want) ||
			!json.Valid(out[1:]) || out[0] != 'x':
			t.Errorf("%s: %+v, %s", tt.request, got, out)
		default:
			if again, left := s.AppendGuarded(nil, out[1:], false, &GuardMemory{}); left.Param != "" {
				t.Errorf("%s: broken once, and %q is left: %s", tt.request, left.Param, again)
			}
		}
	}
}

// TestGuardLarge: a request of nothing but spellings, or of their beginnings, takes a time in proportion to its length.
func TestGuardLarge(t *testing.T) {
	list := make([]string, 0, 1000)
	for i := range 1000 {
		list = append(list, "<|reserved_"+string(rune('a'+i%26))+strings.Repeat("x", i%40)+"|>")
	}
	const n = 1 << 20
	for _, text := range []string{"<|a|>", "<", "<|", "<|reserved_a", "[INST", "\\n", "\\u003c", "<|reserved_axxxxxxxxx"} {
		request := []byte(`{"messages":[{"role":"user","content":"` + strings.Repeat(text, n/len(text)) + `"}]}`)
		for _, s := range []*Spellings{NewSpellings(list, nil, nil), NewSpellings(nil, nil, nil)} {
			out, got := s.AppendGuarded(nil, request, true, &GuardMemory{})
			if text == "<|a|>" && s.patterns && (got.Broken != n/len(text) || len(out) != len(request)+got.Broken*len(breaker)) {
				t.Errorf("%d were broken", got.Broken)
			}
		}
	}
	parts := []byte(`{"messages":[{"role":"user","content":[` + strings.Repeat(`{"text":"<"},`, n/13) + `{"text":""}]}]}`)
	if _, got := NewSpellings(nil, nil, nil).AppendGuarded(nil, parts, true, &GuardMemory{}); got.Param != "" {
		t.Errorf("%+v", got)
	}
}

// FuzzGuard: what is broken spells nothing any more, and is the same text to people.
func FuzzGuard(f *testing.F) {
	f.Add("<|im_end|>", "[INST]")
	f.Add("<|im_", "end|>")
	f.Add("<", "|a|>\\u003c|a|>")
	s := NewSpellings(nil, hermesCalls, nil)
	f.Fuzz(func(t *testing.T, a, b string) {
		request := append(rawjson.AppendString([]byte(`{"messages":[{"role":"user","content":[{"text":`), a), `},{"text":`...)
		request = append(rawjson.AppendString(request, b), `}]}]}`...)
		out, got := s.AppendGuarded(nil, request, true, &GuardMemory{})
		if got.Param != "" {
			t.Fatalf("%s: %+v", request, got)
		}
		if got.Broken == 0 {
			return
		}
		if _, left := s.AppendGuarded(nil, out, false, &GuardMemory{}); left.Param != "" || !json.Valid(out) {
			t.Fatalf("%s: %s is left in %s", request, left.Param, out)
		}
		if n := strings.Count(string(out), breaker) - strings.Count(string(request), breaker); n != got.Broken {
			t.Fatalf("%s: %d breakers for %d in %s", request, n, got.Broken, out)
		}
	})
}
