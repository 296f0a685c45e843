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

// likely stands between a parser and a choice, and tells the choice how likely each token of content was. Only the parser
// knows which tokens those are: text that turns out to be no header is content that comes late, so that what could be a
// header's is kept for as long as a header may be.
type likely struct {
	translate.Choice
	t      *tokenizer.Tokenizer
	parser *harmony.StreamParser
	// top is how many alternatives the client wants.
	top int
	// number is the newest token's, newest how likely it was; told says that the choice knows, or never will.
	number int
	id     uint32
	newest *backend.Likelihood
	told   bool
	held   []heldLogprob
	shown  openai.Logprob
	values []float64
}

// heldLogprob is what is known of a token that may become content.
type heldLogprob struct {
	number  int
	logprob openai.Logprob
}

// next is called before the parser is given a token.
func (l *likely) next(id uint32, newest *backend.Likelihood) {
	l.number, l.id, l.newest, l.told = l.parser.Taken(), id, newest, false
}

// keep is called behind it.
func (l *likely) keep() {
	told := l.told
	l.told = true
	if told || tokenizer.IsSpecial(l.id) {
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

// Content implements harmony.Sink.
func (l *likely) Content(text []byte, tokens int) {
	if tokens > 0 {
		l.tell(l.parser.Delivering())
	}
	l.Choice.Content(text, tokens)
}

func (l *likely) tell(number int) {
	if number == l.number && !l.told {
		l.told = true
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

// read puts the newest token into shown, with its alternatives in their order. A control token is none of them, as there
// is none in any text that clients get.
func (l *likely) read() bool {
	token, ok := l.t.TokenBytes(l.id)
	if !ok {
		return false
	}
	l.shown = openai.Logprob{Likely: openai.Likely{Token: token, Logprob: l.newest.Logprob}, Top: l.shown.Top[:0]}
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
		l.shown.Top = slices.Insert(l.shown.Top, at, openai.Likely{Token: token, Logprob: other.Logprob})
	}
	if len(l.shown.Top) > l.top {
		l.shown.Top = l.shown.Top[:l.top]
	}
	return true
}
