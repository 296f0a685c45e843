package harmony

import (
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestRecipientLast checks that a past call whose recipient stands last has the ids that the model writes: those of a
// forced call's header, the text, and the end.
func TestRecipientLast(t *testing.T) {
	v := o200k.Tokenizer()
	r := NewRenderer(v)
	for _, recipient := range []string{"functions.get_weather", "functions.a-b_9", "python"} {
		for _, plain := range []bool{false, true} {
			m := Message{Role: Assistant, Recipient: Some(recipient), Channel: Some(Commentary), Content: Text(`{"a": 1}`),
				RecipientLast: true}
			if !plain {
				m.ContentType = Some("<|constrain|>json")
			}
			got, err := r.AppendMessage(nil, &m)
			if err != nil {
				t.Fatal(err)
			}
			want := r.AppendCallHeader(r.AppendHeader(nil, Assistant), recipient, plain)
			want = append(v.AppendEncode(want, `{"a": 1}`), tokenizer.Call)
			if !slices.Equal(got, want) {
				t.Errorf("%s, plain %t: %v, want %v", recipient, plain, got, want)
			}
		}
	}
	result := Message{Role: Tool, Name: Some("functions.f"), Recipient: Some("assistant"), Channel: Some(Commentary),
		Content: Text("r"), RecipientLast: true}
	got, err := r.AppendMessage(nil, &result)
	want := v.AppendEncodeSpecial(nil, "<|start|>functions.f<|channel|>commentary to=assistant<|message|>r<|end|>")
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}
