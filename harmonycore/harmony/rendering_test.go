package harmony

import (
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestRendering: messages that are rendered some at a time come to what all at once do, and are given up only where
// they take more tokens than are wanted.
func TestRendering(t *testing.T) {
	r := NewRenderer(o200k.Tokenizer())
	c := &Conversation{Messages: []Message{
		{Role: System, Content: []Content{{System: &SystemContent{ModelIdentity: Some("You are ChatGPT.")}}}},
		{Role: Developer, Content: []Content{{Developer: &DeveloperContent{Instructions: Some("Be brief.")}},
			{Text: "And kind."}}},
		{Role: User, Content: Text("What is that? " + strings.Repeat("zqjxkvbp", 300))},
		{Role: Assistant, Channel: Some(Analysis), Content: Text("Nobody knows.")},
		{Role: Assistant, Channel: Some(Final), Content: Text("Letters.")},
		{Role: User, Name: Some("Ann"), Content: Text("")},
	}}
	want, err := r.AppendConversation(nil, c, DropBeforeLastFinal)
	if err != nil {
		t.Fatal(err)
	}
	for at := range len(c.Messages) + 1 {
		g := r.Begin(c, DropBeforeLastFinal)
		got, fit, err := g.Append(nil, 0, at, len(want))
		if err != nil || !fit {
			t.Fatal(fit, err)
		}
		first := len(got)
		if got, fit, err = g.Append(got, at, len(c.Messages), len(want)-first); err != nil || !fit ||
			!slices.Equal(got, want) {
			t.Errorf("parted at %d: %d tokens, want %d; %v", at, len(got), len(want), err)
		}
		g.End()
	}
	g := r.Begin(c, DropBeforeLastFinal)
	defer g.End()
	for limit := range len(want) + 3 {
		got, fit, err := g.Append([]uint32{7}, 0, len(c.Messages), limit)
		if short := limit < len(want); err != nil || fit == short || short && len(got) != 1 ||
			!short && !slices.Equal(got[1:], want) {
			t.Errorf("at most %d of %d: %d tokens, %v", limit, len(want), len(got)-1, err)
		}
	}
}
