package exchange

import (
	"slices"
	"strconv"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// logprobs stands between a parser and a choice. It gives the choice the logprob of each token of content. Only the
// parser knows which tokens those are. Text that turns out not to be a header is content that comes late. So logprobs
// keeps the logprobs of tokens that may belong to a header for as long as a header may be.
type logprobs struct {
	translate.Choice
	t      *tokenizer.Tokenizer
	parser *harmony.StreamParser
	// top is how many alternatives the client wants.
	top int
	// number is the index of the newest token, and newest its likelihood. done reports whether the choice has got its
	// logprob, or will never get it.
	number int
	id     uint32
	newest *backend.TokenLogprob
	done   bool
	held   []heldLogprob
	shown  openai.Logprob
	values []float64
}

// heldLogprob is the logprob of a token that may become content.
type heldLogprob struct {
	number  int
	logprob openai.Logprob
}

// next is called before the parser gets a token.
func (l *logprobs) next(id uint32, newest *backend.TokenLogprob) {
	l.number, l.id, l.newest, l.done = l.parser.Taken(), id, newest, false
}

// keep is called after the parser got the token.
func (l *logprobs) keep() {
	done := l.done
	l.done = true
	if done || tokenizer.IsSpecial(l.id) {
		return
	}
	if len(l.held) >= harmony.MaxHeaderTokens {
		l.held = slices.Delete(l.held, 0, len(l.held)-harmony.MaxHeaderTokens+1)
	}
	if !l.read() {
		return
	}
	l.held = append(l.held, heldLogprob{number: l.number, logprob: l.shown.Clone()})
}

// Content implements [harmony.Sink].
func (l *logprobs) Content(text []byte, tokens int) {
	if tokens > 0 {
		l.pass(l.parser.Delivering())
	}
	l.Choice.Content(text, tokens)
}

// pass gives the choice the logprob of the token with this index.
func (l *logprobs) pass(number int) {
	if number == l.number && !l.done {
		l.done = true
		l.held = l.held[:0]
		if l.read() {
			l.Logprob(&l.shown)
		}
		return
	}
	for i := range l.held {
		if l.held[i].number == number {
			l.Logprob(&l.held[i].logprob)
			l.held = slices.Delete(l.held, 0, i+1)
			return
		}
	}
}

// read writes the newest token with its alternatives, in their order, into shown. It leaves out control tokens, as in
// all text for clients. It reports whether the token has a logprob.
func (l *logprobs) read() bool {
	token, ok := l.t.TokenBytes(l.id)
	if !ok {
		return false
	}
	newest := openai.TokenLogprob{Token: token, Logprob: l.newest.Logprob}
	l.shown = openai.Logprob{TokenLogprob: newest, Top: l.shown.Top[:0]}
	l.values = l.values[:0]
	for i := range l.newest.Top {
		other := &l.newest.Top[i]
		token, ok := l.t.TokenBytes(other.ID)
		value, err := strconv.ParseFloat(string(other.Logprob), 64)
		if !ok || err != nil || tokenizer.IsSpecial(other.ID) {
			continue
		}
		at := len(l.values)
		for at > 0 && l.values[at-1] < value {
			at--
		}
		l.values = slices.Insert(l.values, at, value)
		l.shown.Top = slices.Insert(l.shown.Top, at, openai.TokenLogprob{Token: token, Logprob: other.Logprob})
	}
	if len(l.shown.Top) > l.top {
		l.shown.Top = l.shown.Top[:l.top]
	}
	return true
}
