package completion

import (
	"errors"
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

func TestPrompts(t *testing.T) {
	model := GPTOSS("m")
	model.Date = "2026-01-31"
	tr := New(Options{Tokenizer: o200k.Tokenizer(), Model: model})
	const chat = `{"model":"m","messages":[{"role":"user","content":"Hi"}]`
	c, err := tr.Chat([]byte(chat + "}"))
	if err != nil {
		t.Fatal(err)
	}
	for name, prompt := range map[string]func() ([]uint32, error){
		"chat": func() ([]uint32, error) { return tr.ChatPrompt([]byte(chat + "}")) },
		// The prompt does not depend on what the program cannot do with the answer.
		"logprobs":  func() ([]uint32, error) { return tr.ChatPrompt([]byte(chat + `,"logprobs":true}`)) },
		"responses": func() ([]uint32, error) { return tr.ResponsesPrompt([]byte(`{"model":"m","input":"Hi"}`)) },
	} {
		if got, err := prompt(); err != nil || !slices.Equal(got, c.Prompt) {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.Prompt)
		}
	}
	var refused *Error
	_, err = tr.ChatPrompt([]byte(`{"model":"other","messages":[]}`))
	if !errors.As(err, &refused) || refused.Status != 404 {
		t.Errorf("another model: %v", err)
	}
}
