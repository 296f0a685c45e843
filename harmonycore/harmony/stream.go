package harmony

import "github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"

// StreamParser turns any stream of token ids into messages. It never fails: it repairs malformed output and counts the
// repairs. Only ids are control tokens. Ordinary tokens that spell a control token are text.
//
// It needs no [Fallback]. Without a control token, the first id that cannot begin a header opens an answer, at once and
// without a timeout. To split such a stream at [FinalMark], pass the bytes of the ids
// ([tokenizer.Tokenizer.TokenBytes]) to a [TextParser].
type StreamParser struct {
	t *tokenizer.Tokenizer
	machine
}

// NewStreamParser returns a parser of a completion: its first token follows "<|start|>assistant".
func NewStreamParser(t *tokenizer.Tokenizer, sink Sink) *StreamParser {
	p := &StreamParser{t: t, machine: machine{sink: sink}}
	p.beginHeader(false)
	return p
}

// Within tells the parser of messages that must go on. In one the parser drops control tokens that would end it, or begin
// another. Return and call end it all the same, since servers stop there. In headers it reads control tokens that are
// spelled in ordinary tokens, which such a server takes for the same.
func (p *StreamParser) Within(form Unfinished) { p.form = form }

// NewTranscriptParser returns a parser of a whole conversation, such as a prompt: its first token is a "<|start|>". In
// a conversation a message may follow a call, and the stream may end after the header "<|start|>assistant".
func NewTranscriptParser(t *tokenizer.Tokenizer, sink Sink) *StreamParser {
	return &StreamParser{t: t, machine: machine{sink: sink, transcript: true}}
}

// Recoveries returns the counts of the repairs so far.
func (p *StreamParser) Recoveries() Recoveries { return p.recoveries }

// Process takes the next token.
func (p *StreamParser) Process(id uint32) {
	p.head.taken++
	text, ok := p.t.TokenBytes(id)
	switch {
	case !ok:
		p.recoveries[UnknownToken]++
	case tokenizer.IsSpecial(id):
		p.control(id)
	default:
		p.ordinary(text)
	}
}

// ProcessText takes the next token as its text, of a server that tells only the ids of control tokens. The text may be
// empty: so it is for a token that ends within a character, where the server shows only whole ones.
func (p *StreamParser) ProcessText(text []byte) {
	p.head.taken++
	p.ordinary(text)
}

// Taken returns the number of tokens processed.
func (p *StreamParser) Taken() int { return p.head.taken }

// Opened returns the number of messages opened so far, the open one included.
func (p *StreamParser) Opened() int { return p.opened }

// InContent reports whether the next ordinary token is content of an open message.
func (p *StreamParser) InContent() bool { return p.state == inContent }

// Delivering returns the index in the stream of the token whose text [Sink.Content] receives, while Content reports a
// token. Usually that is the newest token. Text that turns out not to be a header is delivered late.
func (p *StreamParser) Delivering() int { return p.delivering }

// Finish ends the stream: it delivers what is held back and closes an open message with [Cut].
func (p *StreamParser) Finish() { p.finish() }
