package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// maxTokenBytes is the size of the longest text of a token, in bytes: 128 spaces in gpt-oss's vocabulary.
const maxTokenBytes = 128

// maxPiece is how much text is parsed before the bounds of an answer are checked, in bytes. The text of one event can
// have thousands of messages.
const maxPiece = 256

// textParser is the [parser] of a choice in text, with or without control tokens. It estimates numbers of tokens.
type textParser struct {
	stream *structure.Harmony
	// received is the number of bytes received. prefilled is the number of tokens that the prompt already had.
	received, prefilled int
}

func newTextParser(g *generation, model *Model, answer translate.Choice) *textParser {
	dialect := harmony.Stripped
	if len(g.prefilled) > 0 {
		dialect = harmony.Printed // the prompt has the header, with control tokens
	}
	return &textParser{stream: structure.NewHarmonyText(answer, dialect, structureOptions(model))}
}

// structureOptions returns what an adapter may need of a model's settings.
func structureOptions(model *Model) structure.Options {
	return structure.Options{
		Marker: model.Marker, ThinkTags: model.Chat.ThinkTags,
		Fallback: harmony.Fallback{
			To: harmony.FallBackToFinal, MinTokens: model.MinTokensBeforeFallback,
			TimeoutMS: int64(model.FallbackOnTimeoutMS),
		},
	}
}

func (p *textParser) exceeds(event *backend.Event, tokens int) bool {
	return (p.received+len(event.Text)+maxTokenBytes-1)/maxTokenBytes > tokens
}

func (p *textParser) prefill(g *generation) {
	for _, id := range g.prefilled {
		if text, ok := g.x.gateway.options.Tokenizer.TokenBytes(id); ok {
			p.write(g, text)
		}
	}
	p.prefilled = p.stream.Taken()
}

// write passes text on. It reads the clock only while the text's beginning may still be taken for an answer without
// Harmony.
func (p *textParser) write(g *generation, text []byte) {
	now := int64(0)
	if p.stream.Timed() {
		now = g.x.now()
	}
	p.stream.Write(text, now)
}

func (p *textParser) take(g *generation, c *choice, event *backend.Event) *openai.Error {
	p.received += len(event.Text)
	for text := event.Text; len(text) > 0; {
		n := min(len(text), maxPiece)
		p.write(g, text[:n])
		text = text[n:]
		if p.stream.Opened() > maxMessages {
			return errTooManyMessages()
		}
		if c.gate != nil && c.endedEarly() {
			g.endEarly(c)
			g.x.report.WastedTokens += harmony.EstimateTokens(len(text))
			return nil
		}
	}
	return nil
}

func (p *textParser) end(_ *generation, finish backend.Finish) *openai.Error {
	p.stream.Finish(finish == backend.Stopped)
	return nil
}

func (p *textParser) finish() { p.stream.Abandon() }

func (p *textParser) generated() int { return max(p.stream.Taken()-p.prefilled, 0) }

func (p *textParser) recoveries() harmony.Recoveries { return p.stream.Recoveries() }

func (p *textParser) refused() *harmony.ParseError { return nil }
