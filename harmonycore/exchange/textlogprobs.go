package exchange

import (
	"bytes"
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// textLogprobs finds out which logprobs of a server belong to a text. A server sends the logprobs of all tokens, in the
// order of the text: also of control tokens, headers and tags, which it or an adapter has taken out of the text.
type textLogprobs struct {
	// all has the logprobs of the last events. The first next of them have been looked at, and the text of the others has
	// not come.
	all  []openai.Logprob
	next int
	// rest is the part of the last token whose text has not come.
	rest []byte
	// torn reports whether the last token was a part of a character that the server could not spell.
	torn bool
}

const (
	// maxWaitingLogprobs is how many logprobs wait for their text after an event. An adapter holds less back.
	maxWaitingLogprobs = 256
	// maxTokensAside is how many tokens are looked at to find the one that a text begins with.
	maxTokensAside = 16
	// maxTextAside is how much of a text may have no token, in bytes.
	maxTextAside = 1 << 10
)

// keep keeps the logprobs of an event until their text comes.
func (t *textLogprobs) keep(event *backend.Event) {
	for i := range event.TextLogprobs {
		from := &event.TextLogprobs[i]
		l := openai.Logprob{TokenLogprob: openai.TokenLogprob{Token: from.Token, Logprob: from.Logprob}}
		for j := range from.Top {
			l.Top = append(l.Top, openai.TokenLogprob{Token: from.Top[j].Token, Logprob: from.Top[j].Logprob})
		}
		t.all = append(t.all, l.Clone())
	}
}

// waiting returns the logprobs whose text has not come.
func (t *textLogprobs) waiting() []openai.Logprob { return t.all[t.next:] }

// forget drops what has been looked at, and the oldest logprobs if too many wait. The caller calls it before each
// event.
func (t *textLogprobs) forget() {
	if n := max(t.next, len(t.all)-maxWaitingLogprobs); n > 0 {
		t.all, t.next = slices.Delete(t.all, 0, n), 0
	}
}

// some reports whether a text may have logprobs.
func (t *textLogprobs) some() bool { return t.next < len(t.all) || len(t.rest) > 0 }

// take calls give with the logprobs of the tokens that a text consists of, and drops the logprobs of tokens before it
// that are not in it.
func (t *textLogprobs) take(text []byte, give func(*openai.Logprob)) {
	if n := min(len(t.rest), len(text)); n > 0 && bytes.Equal(t.rest[:n], text[:n]) {
		t.rest, text = t.rest[n:], text[n:]
	} else {
		t.rest = nil
	}
	for t.next < len(t.all) && len(text) > 0 {
		l := &t.all[t.next]
		t.next++
		n := min(len(l.Token), len(text))
		switch {
		case n > 0 && bytes.Equal(l.Token[:n], text[:n]):
			t.rest, t.torn = l.Token[n:], false
			text = text[n:]
		case isTorn(l.Token):
			t.torn = true
		default:
			at := t.aside(l.Token, text)
			if at < 0 {
				continue
			}
			text, t.torn = text[at+len(l.Token):], false
		}
		give(l)
	}
}

// aside returns the place of a token in a text that does not begin with it, or -1 if the token is not in the text.
// Where one of the next tokens is what the text begins with, this one is not.
func (t *textLogprobs) aside(token, text []byte) int {
	if len(token) == 0 {
		return -1
	}
	if next := t.waiting(); !t.torn {
		for i := range min(len(next), maxTokensAside) {
			if other := next[i].Token; len(other) > 0 && bytes.HasPrefix(text, other) {
				return -1
			}
		}
	}
	return bytes.Index(text[:min(len(text), maxTextAside)], token)
}

// isTorn reports whether a token is a part of a character that the server could not spell.
func isTorn(token []byte) bool { return bytes.Contains(token, replacement) }

// replacement is U+FFFD.
var replacement = []byte("\uFFFD")
