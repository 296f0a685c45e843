package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// choice is one of the answers that a server generates for a request: a parser, and what it delivers to.
type choice struct {
	parser *harmony.StreamParser
	// check sees what the reference would have refused.
	check  *harmony.StrictCheck
	answer translate.Choice
	// generated is how many tokens came.
	generated int
	// finish is why the server stopped, once it has.
	finish backend.Finish
}

func newChoices(t *tokenizer.Tokenizer, answer translate.Answer) []choice {
	parts := answer.Choices()
	choices := make([]choice, 0, len(parts))
	for _, part := range parts {
		choices = append(choices, choice{parser: harmony.NewStreamParser(t, part), check: harmony.NewStrictCheck(t), answer: part})
	}
	return choices
}

// choice is the one with this index, or nil where none was asked for.
func (e *Exchange) choice(index int) *choice {
	if index < 0 || index >= len(e.choices) {
		return nil
	}
	return &e.choices[index]
}

// end is the server's end of the choice; one that is no regular end stays without an end of ours.
func (c *choice) end(finish backend.Finish) {
	c.finish = finish
	if finish != backend.Stopped && finish != backend.Length {
		return
	}
	c.check.Finish()
	c.parser.Finish()
	reason := translate.Stop
	if finish == backend.Length {
		reason = translate.Length
	}
	c.answer.End(reason)
}

// ended reports whether every choice has come to a regular end.
func (e *Exchange) ended() bool {
	for i := range e.choices {
		if f := e.choices[i].finish; f != backend.Stopped && f != backend.Length {
			return false
		}
	}
	return true
}

// generated is how many tokens came in all choices.
func (e *Exchange) generated() int {
	n := 0
	for i := range e.choices {
		n += e.choices[i].generated
	}
	return n
}
