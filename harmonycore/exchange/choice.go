package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// choice is one of the answers that a server generates for a request: a parser, and the receiver of its messages.
type choice struct {
	parser parser
	answer translate.Choice
	// gate is between parser and answer if the request may end the answer early. Otherwise it is nil.
	gate *translate.Gate
	// finish is the reason why the server stopped, once it has.
	finish backend.Finish
	// endsLate reports whether the server's reason for an end counts at the end of the stream only. Servers of
	// conversations may go on after it, or name one in every chunk. Until then the reason is named.
	endsLate bool
	named    backend.Finish
	// wasted is the number of tokens that came after the choice had ended.
	wasted int
}

// parser reads what a server generates for one choice, and passes the messages on. There is one type for servers that
// answer in token ids, one for servers that answer in text, one for text whose control tokens come as ids, and one for
// servers that take conversations.
type parser interface {
	// exceeds reports whether the choice has more than tokens tokens with what the event holds.
	exceeds(event *backend.Event, tokens int) bool
	// prefill takes the part of the answer that the prompt already ends with.
	prefill(g *generation)
	// take takes what the event holds. If the choice c ends early with it, take notes that.
	take(g *generation, c *choice, event *backend.Event) *openai.Error
	// end is called when the server has ended the choice regularly. A failure is one that only the end shows.
	end(g *generation, finish backend.Finish) *openai.Error
	// finish delivers what is held back of an answer that broke off.
	finish()
	// generated returns the number of tokens taken.
	generated() int
	// recoveries returns the counts of the repairs. refused returns the error at which a strict parser would have stopped,
	// or nil.
	recoveries() harmony.Recoveries
	refused() *harmony.ParseError
}

// newChoices returns the choices of the generation's answer, without their parsers.
func (g *generation) newChoices(r *translate.Request) []choice {
	parts := g.answer.Choices()
	choices := make([]choice, 0, len(parts))
	for _, part := range parts {
		choices = append(choices, choice{answer: part, gate: r.Gate(part)})
	}
	return choices
}

// sink returns what the parser gives its messages to.
func (c *choice) sink() translate.Choice {
	if c.gate != nil {
		return c.gate
	}
	return c.answer
}

// addParsers gives the choices their parsers, for servers that take prompts.
func (g *generation) addParsers() {
	kind, tokenizer := g.kind.Facts(), g.x.gateway.options.Tokenizer
	for i := range g.choices {
		switch c := &g.choices[i]; {
		case !kind.TextAnswers:
			c.parser = newIDParser(tokenizer, g.translated, g.model, c.sink())
		case kind.ControlTokens:
			c.parser = newMarkedParser(tokenizer, c.sink())
		default:
			c.parser = newTextParser(g, g.model, c.sink())
		}
	}
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

// end records that the server ended the choice. If the end is not regular, the answer's choice stays open.
func (c *choice) end(g *generation, finish backend.Finish) *openai.Error {
	if finish.Regular() {
		if failure := c.parser.end(g, finish); failure != nil {
			return failure
		}
	}
	c.finish = finish
	if !finish.Regular() {
		return nil
	}
	switch finish {
	case backend.Length:
		c.answer.End(translate.Length)
	case backend.Repeated:
		c.answer.End(translate.Repetition)
	case backend.Filtered:
		c.answer.End(translate.Filtered)
	default:
		c.answer.End(translate.Stop)
	}
	return nil
}

// allEnded reports whether every choice has a regular end.
func (g *generation) allEnded() bool {
	for i := range g.choices {
		c := &g.choices[i]
		if !c.finish.Regular() && (c.finish != backend.Running || !c.named.Regular()) {
			return false
		}
	}
	return true
}

// nameEnds names the end of each choice that ends late, and of which the server has sent something and no reason. It is
// called at the mark that ends the stream.
func (g *generation) nameEnds() {
	for i := range g.choices {
		c := &g.choices[i]
		if c.endsLate && c.finish == backend.Running && c.named == backend.Running && c.parser.generated() > 0 {
			c.named = backend.Stopped
		}
	}
}

// endNamed ends the choices whose end was only named.
func (g *generation) endNamed() *openai.Error {
	for i := range g.choices {
		c := &g.choices[i]
		if c.finish != backend.Running || c.named == backend.Running {
			continue
		}
		if failure := c.end(g, c.named); failure != nil {
			return failure
		}
	}
	return nil
}

// generated returns the number of tokens received in all choices.
func (g *generation) generated() int {
	n := 0
	for i := range g.choices {
		n += g.choices[i].parser.generated()
	}
	return n
}
