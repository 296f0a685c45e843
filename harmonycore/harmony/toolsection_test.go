package harmony

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestToolSection: a message whose tools keep their ids has those that it has without, whatever its instructions end
// with, and so have later messages without the tools. A limit is exceeded where it is without.
func TestToolSection(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 40))
	r := NewRenderer(o200k.Tokenizer())
	schema, err := ParseSchema([]byte(`{"type":"object","properties":{"a":{"type":"string","description":"An #a.\n"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	tools := []Namespace{{Key: functionsNamespace, Name: functionsNamespace, Tools: []ToolDescription{
		{Name: "f", Description: "Does it.", Parameters: schema}, {Name: "g"}}}}
	ends := []string{" ", "\n", "\r", "#", "/", ".", "a", "'s", "1", "é", "世", "\u2028", "\u00a0", "\t", "🙂", "# Tools", "]"}
	section := &ToolSection{}
	for i := range 3000 {
		developer := func(tools []Namespace, section *ToolSection) *Conversation {
			return &Conversation{Messages: []Message{{Role: System, Content: []Content{{System: &SystemContent{
				Channels: &ChannelConfig{Valid: []string{Final}, Required: true}}}}},
				{Role: Developer, Content: []Content{{Developer: &DeveloperContent{Tools: tools, Section: section}}, {Text: "#"}}}}}
		}
		bare, first, later := developer(tools, nil), developer(tools, &ToolSection{}), developer(nil, section)
		if i == 0 {
			later = developer(tools, section)
		}
		if i%50 != 1 {
			text := ""
			for range rng.IntN(6) {
				text += ends[rng.IntN(len(ends))]
			}
			for _, c := range []*Conversation{bare, first, later} {
				c.Messages[1].Content[0].Developer.Instructions = Some(text)
			}
		}
		want, err := r.AppendConversation(nil, bare, KeepAnalysis)
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]*Conversation{"first": first, "later": later} {
			if got, err := r.AppendConversation(nil, c, KeepAnalysis); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s, %q: %v\n%v, want\n%v", name, bare.Messages[1].Content[0].Developer.Instructions.Value, err, got, want)
			}
			limit := rng.IntN(len(want) + 2)
			g := r.Begin(c, KeepAnalysis)
			got, fit, err := g.Append(nil, 0, math.MaxInt, limit)
			g.End()
			if err != nil || fit != (len(want) <= limit) || fit && !slices.Equal(got, want) {
				t.Fatalf("at most %d of %d: %d tokens, %v, %v", limit, len(want), len(got), fit, err)
			}
		}
	}
}

// TestToolSectionWithoutIDs: what cannot be rendered, or does not fit, leaves a section as it was.
func TestToolSectionWithoutIDs(t *testing.T) {
	r, section := NewRenderer(o200k.Tokenizer()), &ToolSection{}
	developer := func(levels int) *Conversation {
		return &Conversation{Messages: []Message{{Role: Developer, Content: []Content{{Developer: &DeveloperContent{
			Section: section, Tools: []Namespace{{Key: functionsNamespace, Name: functionsNamespace,
				Tools: []ToolDescription{{Name: "f", Parameters: nested(levels)}}}}}}}}}}
	}
	if _, err := r.AppendConversation(nil, developer(MaxSchemaDepth+1), KeepAnalysis); err == nil || section.Rendered() {
		t.Errorf("%v, %v", err, section)
	}
	g := r.Begin(developer(2), KeepAnalysis)
	defer g.End()
	if _, fit, err := g.Append(nil, 0, 1, 10); fit || err != nil || section.Rendered() {
		t.Errorf("%v, %v, %v", fit, err, section)
	}
	if out, fit, err := g.Append(nil, 0, 1, math.MaxInt); !fit || err != nil || !section.Rendered() || len(out) < 20 {
		t.Errorf("%v, %v, %v", fit, err, section)
	}
}
