package record

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/structure"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// idParser is the [parser] of token ids, and of text whose control tokens come as ids.
type idParser struct {
	t      *tokenizer.Tokenizer
	stream *harmony.StreamParser
}

func newIDParser(t *tokenizer.Tokenizer, sink harmony.Sink, begun []uint32) *idParser {
	p := &idParser{t: t, stream: harmony.NewStreamParser(t, sink)}
	for _, id := range begun {
		p.stream.Process(id)
	}
	return p
}

// maxUnseen is how many tokens without text of their own a server is believed to have in an event. The gateway believes
// it no more than the request allows, which is not known here.
const maxUnseen = 1024

// take passes text of several tokens on as the last of them, as the gateway does.
func (p *idParser) take(c *choice, e *backend.Event) {
	if e.TextTokens > 0 {
		unseen := min(e.TextTokens-1, maxUnseen)
		for range unseen {
			p.stream.ProcessText(nil)
		}
		p.stream.ProcessText(e.Text)
		c.addText(e.Text, unseen+1)
	}
	for _, id := range e.Tokens {
		p.stream.Process(id)
		text, _ := p.t.TokenBytes(id)
		c.pending.Texts = append(c.pending.Texts, string(text))
		c.addID(id)
	}
}

func (p *idParser) finish(bool) { p.stream.Finish() }

func (p *idParser) recoveries() harmony.Recoveries { return p.stream.Recoveries() }

// adapterOptions are the gateway's defaults: a frame does not tell what the operator has set.
func adapterOptions() structure.Options {
	d := contract.DefaultModel("")
	return structure.Options{
		Marker: d.Marker, ThinkTags: d.Chat.ThinkTags,
		Fallback: harmony.Fallback{
			To: harmony.FallBackToFinal, MinTokens: d.MinTokensBeforeFallback, TimeoutMS: int64(d.FallbackOnTimeoutMS),
		},
	}
}

// maxPiece is how much text is read between two looks at the repairs, in bytes.
const maxPiece = 256

// textParser is the [parser] of text.
type textParser struct {
	stream *structure.Harmony
	bytes  int
}

func newTextParser(c *choice, begun string) *textParser {
	dialect := harmony.Stripped
	if begun != "" {
		dialect = harmony.Printed // the prompt has the header, with control tokens
	}
	p := &textParser{stream: structure.NewHarmonyText(c, dialect, adapterOptions())}
	p.stream.Write([]byte(begun), 0)
	return p
}

func (p *textParser) take(c *choice, e *backend.Event) {
	eachPiece(e.Text, func(piece []byte) {
		p.stream.Write(piece, c.answer.stream.at/1000)
		c.addText(piece, estimate(&p.bytes, len(piece)))
	})
}

func (p *textParser) finish(whole bool) { p.stream.Finish(whole) }

func (p *textParser) recoveries() harmony.Recoveries { return p.stream.Recoveries() }

// eachPiece calls take with pieces of a text.
func eachPiece(text []byte, take func(piece []byte)) {
	for len(text) > 0 {
		n := min(len(text), maxPiece)
		take(text[:n])
		text = text[n:]
	}
}

// estimate returns about how many tokens n further bytes are, after *bytes.
func estimate(bytes *int, n int) int {
	before := harmony.EstimateTokens(*bytes)
	*bytes += n
	return harmony.EstimateTokens(*bytes) - before
}

// conversationParser is the [parser] of servers that separate reasoning and calls from the text.
type conversationParser struct {
	adapter structure.Adapter
	sink    harmony.Sink
	// open is the part of the answer that the open message is of, and call the number of the open call.
	open  conversationPart
	call  int
	bytes int
}

type conversationPart uint8

const (
	noPart conversationPart = iota
	reasoningPart
	textPart
	callPart
)

func newConversationParser(c *choice, speaks string) *conversationParser {
	create, ok := structure.Named(speaks, nil)
	if !ok {
		create = structure.NewChat // an adapter of a program's own, which this one does not have
	}
	return &conversationParser{adapter: create(c, adapterOptions()), sink: c}
}

func (p *conversationParser) take(c *choice, e *backend.Event) {
	ids := len(e.SampledIDs) > 0
	for _, id := range e.SampledIDs {
		c.addID(id) // of the servers' vocabulary, which need not be ours
	}
	tokens := func(n int) int {
		if ids {
			return 0
		}
		return estimate(&p.bytes, n)
	}
	if len(e.Reasoning) > 0 {
		p.begin(reasoningPart, harmony.Header{Role: harmony.Assistant, Channel: harmony.Analysis})
		c.Content(e.Reasoning, 0)
		c.addText(nil, tokens(len(e.Reasoning)))
	}
	eachPiece(e.Text, func(piece []byte) {
		if p.open != textPart {
			p.close(harmony.EndedByEnd)
			p.open = textPart
		}
		p.adapter.Write(piece, c.answer.stream.at/1000)
		c.addText(nil, tokens(len(piece)))
	})
	for i := range e.Calls {
		piece := &e.Calls[i]
		if len(piece.Name) > 0 || p.open != callPart || p.call != piece.Index {
			p.close(harmony.EndedByCall)
			p.call = piece.Index
			p.begin(callPart, harmony.Header{Role: harmony.Assistant, Channel: harmony.Commentary,
				Recipient: "functions." + string(piece.Name), ContentType: "json"})
		}
		c.Content(piece.Arguments, 0)
		c.addText(nil, tokens(len(piece.Name)+len(piece.Arguments)))
	}
}

// begin opens a message for a part that the server has separated, unless one is open.
func (p *conversationParser) begin(part conversationPart, h harmony.Header) {
	if p.open == part {
		return
	}
	p.close(harmony.EndedByEnd)
	if part == reasoningPart {
		p.adapter.Break() // before all text it tells that the server separates reasoning
	}
	p.open = part
	p.sink.Open(h)
}

func (p *conversationParser) close(end harmony.End) {
	switch p.open {
	case textPart:
		p.adapter.Break()
	case reasoningPart, callPart:
		p.sink.Close(end)
	case noPart:
	}
	p.open = noPart
}

func (p *conversationParser) finish(whole bool) {
	if p.open != textPart {
		p.close(harmony.EndedByCall)
	}
	p.adapter.Finish(whole)
}

func (p *conversationParser) recoveries() harmony.Recoveries { return p.adapter.Recoveries() }
