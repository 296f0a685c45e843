package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// markedParser is the [parser] of a choice in text whose control tokens come as ids. The server counts the tokens of
// the text.
type markedParser struct {
	stream *harmony.StreamParser
	// received is the number of tokens received.
	received int
}

func newMarkedParser(t *tokenizer.Tokenizer, answer translate.Choice) *markedParser {
	return &markedParser{stream: harmony.NewStreamParser(t, answer)}
}

// exceeds also reports text that is longer than its tokens can be.
func (p *markedParser) exceeds(event *backend.Event, tokens int) bool {
	return p.received+sizeOf(event) > tokens || len(event.Text) > event.TextTokens*maxTokenBytes
}

func (p *markedParser) prefill(g *generation) {
	for _, id := range g.prefilled {
		p.stream.Process(id)
	}
}

// take passes text of several tokens on as the last of them. Servers hold text back while it ends within a character,
// so the tokens before the last had nothing that could be shown.
func (p *markedParser) take(g *generation, c *choice, event *backend.Event) *openai.Error {
	size := sizeOf(event)
	for at := range size {
		p.received++
		switch place := at - event.TextTokens; {
		case place >= 0:
			p.stream.Process(event.Tokens[place])
		case place == -1:
			p.stream.ProcessText(event.Text)
		default:
			p.stream.ProcessText(nil)
		}
		if p.stream.Opened() > maxMessages {
			return errTooManyMessages()
		}
		if c.gate != nil && c.endedEarly() {
			g.endEarly(c)
			g.x.report.WastedTokens += size - at - 1
			return nil
		}
	}
	return nil
}

func (p *markedParser) end(*generation, backend.Finish) *openai.Error {
	p.stream.Finish()
	return nil
}

func (p *markedParser) finish() { p.stream.Finish() }

func (p *markedParser) generated() int { return p.received }

func (p *markedParser) recoveries() harmony.Recoveries { return p.stream.Recoveries() }

func (p *markedParser) refused() *harmony.ParseError { return nil }
