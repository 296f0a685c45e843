package harmony_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

const noLimit = 1 << 30

// TestTranscriptVectors: a conversation written out and read again renders as the one that it was made of.
func TestTranscriptVectors(t *testing.T) {
	r := harmony.NewRenderer(o200k.Tokenizer())
	written := 0
	eachVector(t, "render_*.jsonl", 2000, func(v *vectors.Conversation) error {
		c, err := harmony.DecodeConversation([]byte(v.Text))
		if err != nil {
			return nil
		}
		for _, p := range []harmony.AnalysisPolicy{harmony.KeepAnalysis, harmony.DropReference, harmony.DropBeforeLastFinal} {
			transcript, _ := harmony.NewTranscript(nil, c, p, noLimit)
			text := transcript.AppendJSON(nil)
			again, err := harmony.DecodeConversation(text)
			if err != nil {
				return fmt.Errorf("%w in %s", err, text)
			}
			want, wantErr := r.AppendConversation(nil, c, p)
			got, err := r.AppendConversation(nil, again, harmony.KeepAnalysis)
			if wantErr == nil && err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
			if wantErr == nil && fmt.Sprint(got) != fmt.Sprint(want) {
				return fmt.Errorf("%s renders otherwise", text)
			}
			written++
		}
		return nil
	})
	if written < 3000 {
		t.Errorf("only %d conversations were written", written)
	}
}

var greeting = &harmony.Conversation{Messages: []harmony.Message{{Role: harmony.User, Content: harmony.Text("Hi")}}}

// TestTranscript checks that what a parser delivers follows the prompt's messages.
func TestTranscript(t *testing.T) {
	transcript, _ := harmony.NewTranscript(nil, greeting, harmony.KeepAnalysis, noLimit)
	p := harmony.NewStreamParser(o200k.Tokenizer(), transcript)
	for _, id := range o200k.Tokenizer().AppendEncodeSpecial(nil, "<|channel|>analysis<|message|>A "+
		"\"b\"<|end|><|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}<|call|>") {
		p.Process(id)
	}
	want := `{"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"A \"b\"","channel":"analysis"},` +
		`{"role":"assistant","recipient":"functions.f","content":"{}","channel":"commentary","content_type":"json"}]}`
	if got := string(transcript.AppendJSON(nil)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTranscriptLimit checks that a transcript over its limit is null, whichever part exceeds it, and holds no more.
func TestTranscriptLimit(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for name, c := range map[string]*harmony.Conversation{
		"a text": {Messages: []harmony.Message{{Role: harmony.User, Content: harmony.Text(long)}}},
		"instructions": {Messages: []harmony.Message{{Role: harmony.Developer, Content: []harmony.Content{{
			Developer: &harmony.DeveloperContent{Instructions: harmony.Some(long)},
		}}}}},
		"many": {Messages: slicesOf(greeting.Messages[0], 100)},
	} {
		transcript, scratch := harmony.NewTranscript(nil, c, harmony.KeepAnalysis, 1000)
		if got := string(transcript.AppendJSON(nil)); got != "null" || len(scratch) > 1100 {
			t.Errorf("%s: %s, %d bytes", name, got, len(scratch))
		}
		transcript.Open(harmony.Header{})
		transcript.Content([]byte("Hi"), 1)
		transcript.Close(harmony.EndedByEnd)
		if got := string(transcript.AppendJSON(nil)); got != "null" {
			t.Errorf("%s: later %s", name, got)
		}
	}
	transcript, _ := harmony.NewTranscript(nil, greeting, harmony.KeepAnalysis, 1000)
	for range 100 {
		transcript.Open(harmony.Header{Channel: harmony.Final})
		if got := transcript.AppendJSON(nil); !bytes.Equal(got, []byte("null")) {
			t.Fatalf("a message is open: %s", got)
		}
		transcript.Content([]byte("Hi there"), 2)
		transcript.Close(harmony.EndedByEnd)
		if got := transcript.AppendJSON(nil); len(got) > 1000+len(`{"messages":[]}`) {
			t.Fatalf("%d bytes", len(got))
		}
	}
	if got := string(transcript.AppendJSON(nil)); got != "null" {
		t.Errorf("the answer has outgrown it: %s", got)
	}
}

func slicesOf(m harmony.Message, n int) (list []harmony.Message) {
	for range n {
		list = append(list, m)
	}
	return list
}
