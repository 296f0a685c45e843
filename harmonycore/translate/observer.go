package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// Observer is a [Choice] that makes no answer and only counts. It is for answers that pass a gateway untouched.
type Observer struct {
	turn turn
	// Undeclared is the number of calls of functions that the request does not declare.
	Undeclared int
}

// NewObserver returns an Observer of one choice of the answer to the request. The zero Request declares no function.
func (r *Request) NewObserver() *Observer { return &Observer{turn: r.newTurn()} }

// Tally returns the counts so far.
func (o *Observer) Tally() *Tally { return &o.turn.tally }

// Open implements [harmony.Sink].
func (o *Observer) Open(h harmony.Header) {
	if o.turn.open(h) == nil && h.Recipient != "" {
		o.Undeclared++
	}
}

// Content implements [harmony.Sink].
func (o *Observer) Content(text []byte, tokens int) { o.turn.content(text, tokens) }

// Close implements [harmony.Sink].
func (o *Observer) Close(end harmony.End) { o.turn.close(end) }

// End implements [Choice].
func (o *Observer) End(f Finish) { o.turn.lacksFinal(f) }

// Reasoning implements [Choice].
func (o *Observer) Reasoning() bool { return o.turn.Reasoning() }

// CallID implements [Choice].
func (*Observer) CallID([]byte) {}

// Logprob implements [Choice].
func (*Observer) Logprob(*openai.Logprob) {}
