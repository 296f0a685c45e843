package engines

import (
	"slices"
	"strings"
	"testing"
)

// TestText encodes each script as the text of a message. Text itself checks the ids, so only their count is looked at.
func TestText(t *testing.T) {
	for _, after := range []string{GenerationPrompt, GenerationPrompt + " to=functions.a<|channel|>commentary json<|message|>"} {
		for _, s := range Scripts {
			if s.Text == "" {
				continue
			}
			text, err := Text(s.Text, after)
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
				continue
			}
			if strings.Contains(text, "<|channel|>") {
				t.Errorf("%s: the text spells a control token", s.Name)
			}
			if got := len(Spell(text)) + len(Spell(after)); got != Distance() {
				t.Errorf("%s: %d tokens, want %d", s.Name, got, Distance())
			}
		}
	}
}

func TestPrompt(t *testing.T) {
	script := Spell("<|channel|>final<|message|>Hi.<|return|>")
	got, err := Prompt(script, GenerationPrompt)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != Distance() || !slices.Equal(got[:len(script)], script) ||
		!slices.Equal(got[len(got)-3:], Spell(GenerationPrompt)) {
		t.Errorf("the prompt is %d tokens: %v", len(got), got)
	}
	for _, id := range got[len(script) : len(got)-3] {
		if id != Spell(Padding)[0] {
			t.Fatalf("the padding has id %d", id)
		}
	}
}

// TestTextRefuses has scripts that no text can make the puppet say.
func TestTextRefuses(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{strings.Repeat(" a", Distance()-2), "the puppet has room for 512"},
		{"<|channel|>final<|message|>旁<|return|>", "cannot be sent as text, from its token 3 on"},
	} {
		if _, err := Text(c.script, GenerationPrompt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: error %v, want %q", c.script, err, c.want)
		}
	}
}
