package harmony

import (
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// formatParts prints parts, one on each line.
func formatParts(parts []Part) string {
	var b strings.Builder
	for i := range parts {
		p := &parts[i]
		fmt.Fprintf(&b, "%s %s name=%s type=%s %q", p.Kind, p.Role, p.Name, p.ContentType, p.Text)
		if p.System != nil {
			b.WriteString(" " + p.System.ModelIdentity.Value)
		}
		if p.Developer != nil {
			b.WriteString(" " + p.Developer.Instructions.Value)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestPartsOfAStream(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>commentary<|message|>Let me look.<|end|>" +
			`<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a":1}<|call|>`,
			"reasoning assistant name= type= \"Hm\"\npreamble assistant name= type= \"Let me look.\"\n" +
				"tool_call assistant name=functions.f type=json \"{\\\"a\\\":1}\"\n"},
		{"<|start|>system<|message|>You<|end|><|start|>developer<|message|># " +
			"Instructions<|end|><|start|>user:ann<|message|>Hi<|end|>" +
			"<|start|>functions.f " +
			"to=assistant<|channel|>commentary<|message|>7<|end|><|start|>assistant<|channel|>final<|message|>é",
			"system_content system name= type= \"You\"\ndeveloper_content developer name= type= \"# Instructions\"\n" +
				"text user name=ann type= \"Hi\"\ntool_result tool name=functions.f type= \"7\"\ntext assistant name= type= \"é\"\n"},
		{"No header", "text assistant name= type= \"No header\"\n"},
		{"<|channel|>thoughts<|message|>x<|end|>", "reasoning assistant name= type= \"x\"\n"},
		{"<|channel|>analysis to=user<|message|>x<|end|>", "reasoning assistant name= type= \"x\"\n"},
		{"", ""},
	} {
		messages, _ := Collect(o200k.Tokenizer(), o200k.Tokenizer().AppendEncodeSpecial(nil, tt.text))
		if got := formatParts(Parts(messages)); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

func TestPartsOfAConversation(t *testing.T) {
	got := formatParts(Parts([]Message{
		{Role: System, Content: []Content{{System: &SystemContent{ModelIdentity: Some("me")}}}},
		{Role: Developer, Content: []Content{{Developer: &DeveloperContent{Instructions: Some("be")}}, {Text: "more"}}},
		{Role: User},
	}))
	want := "system_content system name= type= \"\" me\ndeveloper_content developer name= type= \"\" be\n" +
		"developer_content developer name= type= \"more\"\n"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if PartKind(0).String() != "" || PartKind(99).String() != "" {
		t.Error("kinds that are not there have names")
	}
}

// TestCollectIsTolerant: what a strict parser refuses is collected and counted.
func TestCollectIsTolerant(t *testing.T) {
	ids := o200k.Tokenizer().AppendEncodeSpecial(nil, "<|channel|>final<|message|>Hi<|return|><|return|>")
	messages, repaired := Collect(o200k.Tokenizer(), append(ids, 1<<30))
	if len(messages) != 1 || messages[0].Content[0].Text != "Hi" || repaired[StrayTerminator] != 1 ||
		repaired[UnknownToken] != 1 {
		t.Errorf("%+v %+v", messages, repaired)
	}
}

// TestCollectAgreesWithStrict: where the strict parser finds no error, both read the same messages. Only the tolerant
// one reads a content type as a word, whether a control token stands before it or not.
func TestCollectAgreesWithStrict(t *testing.T) {
	r := NewRenderer(o200k.Tokenizer())
	ids, err := r.AppendConversation(nil, conversation(3, 2), KeepAnalysis)
	if err != nil {
		t.Fatal(err)
	}
	messages, repaired := Collect(o200k.Tokenizer(), ids)
	want := strings.ReplaceAll(string(AppendMessages(nil, parsed(t, ids))), "<|constrain|>", "")
	if got := string(AppendMessages(nil, messages)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if repaired.Total() != 0 {
		t.Errorf("%+v", repaired)
	}
}
