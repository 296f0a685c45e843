package exchange

import (
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestTextLogprobs: each text gets the logprobs of its own tokens, however the tokens come, and no others.
func TestTextLogprobs(t *testing.T) {
	for _, tt := range []struct{ name, tokens, texts, want string }{
		{"one by one", "Hi| there", "Hi| there", "Hi; there"},
		{"at once", "Hi| there", "Hi there", "Hi| there"},
		{"control tokens and headers", "<|end|>|<|start|>|assistant|<|channel|>|final|<|message|>|The| final|<|return|>",
			"The final", "The| final"},
		{"tags", "<think>|\n|Hm|</think>|\n\n|Yes|<|im_end|>", "\nHm|Yes", "\n|Hm;Yes"},
		{"a token longer than its text", "Hi there|!", "Hi| there|!", "Hi there;;!"},
		{"halves of a character", " \xf0\x9f\x91|\xa9|!", " 👩!", " \xf0\x9f\x91|\xa9|!"},
		{"halves that the server could not spell", " \uFFFD|\uFFFD|!", " 👩!", " \uFFFD|\uFFFD|!"},
		{"space that is not in the text", "\n\nHello| world| again", "Hello world again", " world| again"},
		{"tokens without a text", "|Hi||!", "Hi!", "Hi|!"},
		{"more text than tokens", "b", "abc|d", "b;"},
	} {
		for _, size := range []int{1, 2, 100} {
			var x textLogprobs
			for tokens := range slices.Chunk(strings.Split(tt.tokens, "|"), size) {
				x.keep(eventOf(tokens)) // tokens come no later than their text
			}
			var got []string
			for text := range strings.SplitSeq(tt.texts, "|") {
				var given []string
				x.take([]byte(text), func(l *openai.Logprob) { given = append(given, string(l.Token)) })
				got = append(got, strings.Join(given, "|"))
			}
			if s := strings.Join(got, ";"); s != tt.want {
				t.Errorf("%s, %d in an event: %q, want %q", tt.name, size, s, tt.want)
			}
		}
	}
}

func eventOf(tokens []string) *backend.Event {
	e := &backend.Event{}
	for _, token := range tokens {
		e.TextLogprobs = append(e.TextLogprobs, backend.TextLogprob{Token: []byte(token), Logprob: []byte("-1")})
	}
	return e
}

// TestTextLogprobsBound: tokens whose text never comes are not kept for ever.
func TestTextLogprobsBound(t *testing.T) {
	var x textLogprobs
	for range 100 {
		x.forget()
		x.keep(eventOf(slices.Repeat([]string{"x"}, 50)))
		if len(x.waiting()) > maxWaitingLogprobs+50 {
			t.Fatalf("%d wait", len(x.waiting()))
		}
	}
}
