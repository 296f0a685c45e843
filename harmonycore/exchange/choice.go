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
	// gate stands before answer where the request wants it to end early; otherwise it is nil.
	gate *translate.Gate
	// likely is between parser and answer where the client wants to know how likely tokens were; else it is nil.
	likely *likely
	// generated is how many tokens came.
	generated int
	// finish is why the server stopped, once it has.
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
			c.likely = &likely{Choice: part, t: t, top: r.TopLogprobs, told: true}
			c.parser = harmony.NewStreamParser(t, c.likely)
			c.likely.parser = c.parser
		} else {
			c.parser = harmony.NewStreamParser(t, part)
		}
		choices = append(choices, c)
	}
	return choices
}

// shut reports whether the choice has come to an early end.
func (c *choice) shut() bool {
	if c.gate == nil {
		return false
	}
	finish := c.gate.Shut()
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

// process gives the parser the token at this place of an event.
func (c *choice) process(event *backend.Event, at int) {
	id := event.Tokens[at]
	if c.likely == nil {
		c.parser.Process(id)
		return
	}
	c.likely.next(id, &event.Likely[at])
	c.parser.Process(id)
	c.likely.keep()
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

// ended reports whether every choice has come to a regular end.
func (e *Exchange) ended() bool {
	for i := range e.choices {
		if !e.choices[i].finish.Regular() {
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
