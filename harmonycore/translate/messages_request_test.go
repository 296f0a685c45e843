package translate

import "testing"

// TestMessagesAreItems: a request to Messages makes the conversation that the same one to Responses does.
func TestMessagesAreItems(t *testing.T) {
	got, err := read(Messages, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"q"},`+
		`{"role":"assistant","content":"a"},{"role":"system","content":"s"},{"role":"user","content":"r"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	want, err := read(Responses, `{"model":"m","input":[{"role":"user","content":"q"},{"role":"assistant","content":"a"},`+
		`{"role":"developer","content":"s"},{"role":"user","content":"r"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := dump(&got.Conversation), dump(&want.Conversation); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got.CountedPrompt(7); got.API != MessagesAPI || got.promptTokens != 7 || got.thinking != 0 || !got.sealed {
		t.Errorf("%+v", got)
	}
}
