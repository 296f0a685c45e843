package harmony

import "github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"

// StreamParser turns any stream of token ids into messages. It never fails: what is malformed is repaired and counted.
// Ordinary tokens that merely spell a control token are text like any other: only ids are control tokens here.
//
// It needs no [Fallback]. Ids without any control token are an answer from the first that cannot begin a header, at
// once and not after a time; to part them at [FinalMark], give a [TextParser] their bytes ([tokenizer.TokenBytes]).
type StreamParser struct {
	t *tokenizer.Tokenizer
	machine
}

// NewStreamParser makes a parser that stands as behind "<|start|>assistant", where a completion begins.
func NewStreamParser(t *tokenizer.Tokenizer, sink Sink) *StreamParser {
	p := &StreamParser{t: t, machine: machine{sink: sink}}
	p.beginHeader(false)
	return p
}

// NewTranscriptParser makes a parser that stands before the first "<|start|>", for a whole conversation such as a
// prompt. There a message behind a call is as it should be, and so is an end behind the header "<|start|>assistant".
func NewTranscriptParser(t *tokenizer.Tokenizer, sink Sink) *StreamParser {
	return &StreamParser{t: t, machine: machine{sink: sink, transcript: true}}
}

// Recoveries are the counts of what was repaired so far.
func (p *StreamParser) Recoveries() Recoveries { return p.seen }

// Process takes one token.
func (p *StreamParser) Process(id uint32) {
	p.head.taken++
	text, ok := p.t.TokenBytes(id)
	switch {
	case !ok:
		p.seen[UnknownToken]++
	case tokenizer.IsSpecial(id):
		p.control(id)
	default:
		p.ordinary(text)
	}
}

// Taken is how many tokens were processed.
func (p *StreamParser) Taken() int { return p.head.taken }

// Opened is how many messages the [Sink] was given so far, the open one included.
func (p *StreamParser) Opened() int { return p.opened }

// Delivering is the number, counted from 0, of the token that the [Sink.Content] is about while it has a token:
// mostly the newest, but text that turns out to be no header is delivered late.
func (p *StreamParser) Delivering() int { return p.delivering }

// Finish ends the stream: what is held back is delivered, and an open message closes with [Cut].
func (p *StreamParser) Finish() { p.finish() }
