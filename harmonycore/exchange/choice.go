package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// choice is one of the answers that a server generates for a request: a parser, and the receiver of its messages.
type choice struct {
	parser *harmony.StreamParser
	// check finds what the reference would have refused.
	check  *harmony.StrictCheck
	answer translate.Choice
	// gate is between parser and answer if the request may end the answer early. Otherwise it is nil.
	gate *translate.Gate
	// logprobs is between parser and answer if the client wants logprobs. Otherwise it is nil.
	logprobs *logprobs
	// generated is the number of tokens received.
	generated int
	// finish is the reason why the server stopped, once it has.
	finish backend.Finish
}

func newChoices(t *tokenizer.Tokenizer, r *translate.Request, answer translate.Answer) []choice {
	parts := answer.Choices()
	choices := make([]choice, 0, len(parts))
	for _, part := range parts {
		c := choice{check: harmony.NewStrictCheck(t), answer: part, gate: r.Gate(part)}
		if c.gate != nil {
			part = c.gate
		}
		if r.Logprobs {
			c.logprobs = &logprobs{Choice: part, t: t, top: r.TopLogprobs, done: true}
			c.parser = harmony.NewStreamParser(t, c.logprobs)
			c.logprobs.parser = c.parser
		} else {
			c.parser = harmony.NewStreamParser(t, part)
		}
		choices = append(choices, c)
	}
	return choices
}

// endedEarly reports whether the choice, which has a gate, has ended early.
func (c *choice) endedEarly() bool {
	finish := c.gate.Ended()
	switch finish {
	case translate.Stop:
		c.finish = backend.Stopped
	case translate.Length:
		c.finish = backend.Length
	default:
		return false
	}
	c.answer.End(finish)
	return true
}

// process passes the token at this index of an event to the parser.
func (c *choice) process(event *backend.Event, at int) {
	id := event.Tokens[at]
	if c.logprobs == nil {
		c.parser.Process(id)
		return
	}
	c.logprobs.next(id, &event.Logprobs[at])
	c.parser.Process(id)
	c.logprobs.keep()
}

// end records that the server ended the choice. If the end is not regular, the answer's choice stays open.
func (c *choice) end(finish backend.Finish) {
	c.finish = finish
	if !finish.Regular() {
		return
	}
	c.parser.Finish()
	reason := translate.Stop
	if finish == backend.Length {
		reason = translate.Length
	}
	c.answer.End(reason)
}

// allEnded reports whether every choice has a regular end.
func (g *generation) allEnded() bool {
	for i := range g.choices {
		if !g.choices[i].finish.Regular() {
			return false
		}
	}
	return true
}

// generated returns the number of tokens received in all choices.
func (g *generation) generated() int {
	n := 0
	for i := range g.choices {
		n += g.choices[i].generated
	}
	return n
}
