package harmony

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

func TestAnalysisPolicies(t *testing.T) {
	message := func(role Role, channel, text string) Message {
		m := Message{Role: role, Content: Text(text)}
		if channel != "" {
			m.Channel = Some(channel)
		}
		return m
	}
	q, a, f, c := message(User, "", "q"), message(Assistant, Analysis, "a"), message(Assistant, Final, "f"),
		message(Assistant, Commentary, "c")
	for _, tt := range []struct {
		in              []Message
		reference, last string
	}{
		{[]Message{q, a, f}, "qf", "qf"},
		{[]Message{q, a, f, q, a, f}, "qfqaf", "qfqf"},
		{[]Message{q, a, f, q, a, c}, "qafqac", "qfqac"},
		{[]Message{q, a, c}, "qac", "qac"},
		{[]Message{q, a, f, q}, "qfq", "qfq"},
		{nil, "", ""},
	} {
		conversation := &Conversation{Messages: tt.in}
		for _, p := range []struct {
			policy AnalysisPolicy
			want   string
		}{{KeepAnalysis, letters(tt.in)}, {DropReference, tt.reference}, {DropBeforeLastFinal, tt.last}} {
			ids, err := NewRenderer(o200k.Tokenizer()).AppendConversation(nil, conversation, p.policy)
			if got := letters(parsed(t, ids)); err != nil || got != p.want {
				t.Errorf("policy %d on %s: %q, %v, want %q", p.policy, letters(tt.in), got, err, p.want)
			}
		}
	}
}

func letters(messages []Message) string {
	var b strings.Builder
	for i := range messages {
		b.WriteString(messages[i].Content[0].Text)
	}
	return b.String()
}

// parsed reads rendered messages back by the strict parser.
func parsed(t *testing.T, ids []uint32) []Message {
	t.Helper()
	p := NewStrictParser(o200k.Tokenizer(), 0, true)
	for _, id := range ids {
		if err := p.Process(id); err != nil {
			t.Fatal(err)
		}
	}
	return p.Messages()
}

func nested(levels int) *Schema {
	v := rawjson.Value{Kind: rawjson.Object,
		Members: []rawjson.Member{{Key: "type", Value: rawjson.Value{Kind: rawjson.String, Text: "string"}}}}
	for range levels - 1 {
		v = rawjson.Value{Kind: rawjson.Object, Members: []rawjson.Member{
			{Key: "type", Value: rawjson.Value{Kind: rawjson.String, Text: "array"}}, {Key: "items", Value: v}}}
	}
	return &Schema{value: v}
}

func TestSchemaDepthIsBounded(t *testing.T) {
	for _, tt := range []struct {
		levels int
		ok     bool
	}{{MaxSchemaDepth, true}, {MaxSchemaDepth + 1, false}, {100_000, false}} {
		tools := []Namespace{{Key: "functions", Name: "functions",
			Tools: []ToolDescription{{Name: "f", Parameters: nested(tt.levels)}}}}
		m := &Message{Role: Developer, Content: []Content{{Developer: &DeveloperContent{Tools: tools}}}}
		_, err := NewRenderer(o200k.Tokenizer()).AppendMessage(nil, m)
		e, isRender := err.(*RenderError)
		if tt.ok && err != nil || !tt.ok && (!isRender || e.Kind != SchemaTooDeep || !strings.Contains(e.Message, "32")) {
			t.Errorf("%d levels: %v", tt.levels, err)
		}
	}
}

func TestDefaultDepthAndRangeAreBounded(t *testing.T) {
	deep := rawjson.Value{Kind: rawjson.Null}
	for range 100_000 {
		deep = rawjson.Value{Kind: rawjson.Array, Elements: []rawjson.Value{deep}}
	}
	for kind, def := range map[RenderErrorKind]rawjson.Value{
		SchemaTooDeep: deep, NumberOutOfRange: {Kind: rawjson.Number, Text: "1e400"}} {
		property := rawjson.Value{Kind: rawjson.Object, Members: []rawjson.Member{{Key: "default", Value: def}}}
		properties := rawjson.Value{Kind: rawjson.Object, Members: []rawjson.Member{{Key: "a", Value: property}}}
		w := schemaWriter{}
		w.object(&rawjson.Value{Kind: rawjson.Object, Members: []rawjson.Member{{Key: "properties", Value: properties}}}, 0,
			1)
		if e, ok := w.err.(*RenderError); !ok || e.Kind != kind {
			t.Errorf("got %v, want kind %d", w.err, kind)
		}
	}
}

func TestRoleUnknownToTheFormat(t *testing.T) {
	r := NewRenderer(o200k.Tokenizer())
	if _, err := r.AppendMessage(nil, &Message{Content: Text("x")}); err == nil {
		t.Error("a message without a role was rendered")
	}
	if _, err := r.AppendCompletion(nil, &Conversation{}, Role(9), KeepAnalysis); err == nil {
		t.Error("a role after the last was rendered")
	}
}

// The header is one that parsers read as the model's own call, and the parser that has it stands in its content.
func TestAppendCallHeader(t *testing.T) {
	for plain, want := range map[bool]string{
		false: "<|channel|>commentary to=functions.get-it_2 <|constrain|>json<|message|>",
		true:  "<|channel|>commentary to=functions.get-it_2<|message|>",
	} {
		ids := NewRenderer(o200k.Tokenizer()).AppendCallHeader(nil, "functions.get-it_2", plain)
		if text := o200k.Tokenizer().DecodeString(ids); text != want {
			t.Errorf("got %q", text)
		}
		strict := NewStrictParser(o200k.Tokenizer(), Assistant, true)
		for _, id := range ids {
			if err := strict.Process(id); err != nil {
				t.Fatal(err)
			}
		}
		if got := strict.Recipient(); got != Some("functions.get-it_2") {
			t.Errorf("recipient %+v", got)
		}
	}
}

// TestToolTokens: the messages of tools count with their headers, wherever they stand, and no other message does.
func TestToolTokens(t *testing.T) {
	r := NewRenderer(o200k.Tokenizer())
	tool := Message{Role: Tool, Name: Some("functions.f"), Recipient: Some("assistant"), Channel: Some(Commentary),
		Content: Text("It is 21 degrees.")}
	other := Message{Role: User, Content: Text("And there?")}
	for _, messages := range [][]Message{{}, {tool}, {other}, {tool, tool}, {other, tool}, {tool, other, other, tool},
		{other, tool, tool, other}} {
		var ids []uint32
		want := 0
		for i := range messages {
			from, err := len(ids), error(nil)
			if ids, err = r.AppendMessage(ids, &messages[i]); err != nil {
				t.Fatal(err)
			}
			if messages[i].Role == Tool {
				want += len(ids) - from
			}
		}
		g := r.Begin(&Conversation{Messages: messages}, KeepAnalysis)
		if _, _, err := g.Append(nil, 0, len(messages), len(ids)); err != nil || g.ToolTokens != want {
			t.Errorf("rendered, %d of %d tokens are of tools, want %d, %v", g.ToolTokens, len(ids), want, err)
		}
		g.End()
		for _, more := range []Role{0, Assistant} {
			if more != 0 {
				ids = r.AppendHeader(ids, more)
			}
			if got := r.ToolTokens(ids); got != want {
				t.Errorf("%d of %d tokens are of tools, want %d", got, len(ids), want)
			}
		}
	}
}
