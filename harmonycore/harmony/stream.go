package harmony

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// MaxHeaderTokens is the longest header that StreamParser waits for; what grows longer becomes content.
const MaxHeaderTokens = 256

type streamState uint8

const (
	between streamState = iota
	inHeader
	inContent
	// atChannel is inside content, behind a channel token whose meaning the next text decides.
	atChannel
)

// StreamParser turns any stream of token ids into messages: it never fails and never stops (DESIGN.md decision 3). It
// is a Mealy machine over the states above; what the grammar does not foresee is repaired and counted (Recovery).
//
// Invariants, for every stream: Open, Content and Close come in that order; every token taken as content is in
// exactly one Content; control tokens are in none, while ordinary tokens that merely spell one are text like any
// other; a closed message is never touched again. Memory is bounded by MaxHeaderTokens.
type StreamParser struct {
	t     *tokenizer.Tokenizer
	sink  Sink
	state streamState
	// stopped says that the last message ended with a stop token, return or call.
	stopped bool
	// lost says that the header's start token is missing.
	lost bool
	head headerBuffer
	// held are the bytes of a rune that is not whole yet.
	held []byte
	out  []byte
	seen Recoveries
}

// NewStreamParser makes a parser that stands as behind "<|start|>assistant", where a completion begins.
func NewStreamParser(t *tokenizer.Tokenizer, sink Sink) *StreamParser {
	p := &StreamParser{t: t, sink: sink}
	p.beginHeader(false)
	return p
}

// Recoveries are the counts of what was repaired so far.
func (p *StreamParser) Recoveries() Recoveries { return p.seen }

// Process takes one token.
func (p *StreamParser) Process(id uint32) {
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

// Finish ends the stream: what is held back is delivered, and an open message closes with Cut.
func (p *StreamParser) Finish() {
	switch p.state {
	case inHeader:
		if !p.head.empty() {
			p.endHeader(Cut)
		}
	case atChannel:
		p.notAHeader()
		p.close(Cut)
	case inContent:
		p.close(Cut)
	}
	p.state = between
}

func (p *StreamParser) ordinary(text []byte) {
	switch p.state {
	case between:
		p.beginHeader(false)
		p.lost = true
		p.addToHeader(text)
	case inHeader:
		p.addToHeader(text)
	case inContent:
		p.deliver(text)
	case atChannel:
		p.head.add(text)
		switch channelBegins(p.head.text) {
		case isChannel:
			p.seen[ChannelInContent]++
			p.close(Cut)
			p.state = inHeader
		case notChannel:
			p.notAHeader()
		default:
			if p.head.tokens >= MaxHeaderTokens {
				p.notAHeader()
			}
		}
	}
}

func (p *StreamParser) control(id uint32) {
	if p.state == atChannel {
		p.notAHeader()
	}
	end, ends := endOf(id)
	switch {
	case ends:
		p.terminate(end)
	case id == tokenizer.Start:
		p.start()
	case id == tokenizer.Channel && p.state == inContent:
		p.state = atChannel
		p.head.reset(false)
		p.head.mark(id)
	case id == tokenizer.Channel, id == tokenizer.Constrain && p.state != inContent:
		if id == tokenizer.Channel && p.state == inHeader && p.head.isProse() {
			p.endHeader(Cut)
		}
		if p.state == between {
			p.beginHeader(false)
			p.lost = true
		}
		p.countLost()
		p.head.mark(id)
		p.limitHeader()
	case id == tokenizer.Message && p.state != inContent:
		if p.state == between {
			p.seen[MissingStart]++
			p.open(Header{Role: Assistant, Channel: Final})
			return
		}
		p.countLost()
		header, _ := p.head.read(false, Cut, &p.seen)
		p.open(header)
	default:
		p.seen[StrayControl]++
	}
}

func (p *StreamParser) terminate(end End) {
	switch p.state {
	case inContent:
		p.close(end)
	case inHeader:
		if !p.head.empty() {
			p.endHeader(end)
			return
		}
		p.state = between
		p.seen[StrayTerminator]++
	default:
		p.seen[StrayTerminator]++
	}
}

func (p *StreamParser) start() {
	switch p.state {
	case inHeader:
		if !p.lost {
			p.seen[DoubledStart]++
		}
		if !p.head.empty() {
			p.endHeader(Cut)
		}
	case inContent:
		p.seen[MissingEnd]++
		p.close(Cut)
	}
	p.beginHeader(true)
}

// beginHeader waits for a header; explicit says that a start token stood before it, so that a role must follow.
func (p *StreamParser) beginHeader(explicit bool) {
	p.state = inHeader
	p.lost = false
	p.head.reset(explicit)
}

func (p *StreamParser) countLost() {
	if p.lost {
		p.seen[MissingStart]++
		p.lost = false
	}
}

func (p *StreamParser) addToHeader(text []byte) {
	p.head.add(text)
	if p.head.headless() && !mayBeHeader(p.head.text) {
		p.seen[ImplicitFinal]++
		p.open(Header{Role: Assistant, Channel: Final})
		p.deliverHeld(0)
		return
	}
	p.limitHeader()
}

func (p *StreamParser) limitHeader() {
	if p.head.tokens < MaxHeaderTokens {
		return
	}
	p.seen[LongHeader]++
	header, from := p.head.read(true, EndedByEnd, &p.seen)
	p.open(finalUnlessNamed(header))
	p.deliverHeld(from)
}

// endHeader ends a header that no message token has ended: the words that are fields stay so, the rest is content.
func (p *StreamParser) endHeader(end End) {
	if p.head.headless() && !p.head.hasRecipient() {
		if p.head.onlyRoles() {
			p.state = between
			p.seen[DroppedHeader]++
			return
		}
		p.seen[ImplicitFinal]++
		p.open(Header{Role: Assistant, Channel: Final})
		p.deliverHeld(0)
		p.close(end)
		return
	}
	header, from := p.head.read(true, end, &p.seen)
	if from >= len(p.head.text) && (header.Recipient == "" || end == Cut) {
		p.state = between
		p.seen[DroppedHeader]++
		return
	}
	p.seen[MissingMessage]++
	p.open(finalUnlessNamed(header))
	p.deliverHeld(from)
	p.close(end)
}

func finalUnlessNamed(h Header) Header {
	if h.Channel == "" && h.Recipient == "" {
		h.Channel = Final
	}
	return h
}

// notAHeader gives the text behind a channel token back to the content that it stands in.
func (p *StreamParser) notAHeader() {
	p.seen[StrayControl]++
	p.state = inContent
	p.deliverHeld(0)
}

func (p *StreamParser) open(h Header) {
	if p.stopped {
		p.seen[AfterStop]++
		p.stopped = false
	}
	p.state = inContent
	p.sink.Open(h)
}

func (p *StreamParser) close(end End) {
	if len(p.held) > 0 {
		p.seen[InvalidText]++
		p.out, _ = appendRepaired(p.out[:0], p.held, true)
		p.held = p.held[:0]
		p.sink.Content(p.out, 0)
	}
	p.state = between
	p.stopped = end == EndedByReturn || end == EndedByCall
	p.sink.Close(end)
}

// deliverHeld delivers the header's tokens as content, from the byte at on.
func (p *StreamParser) deliverHeld(at int) {
	from := 0
	for _, end := range p.head.ends {
		if end > at {
			p.deliver(p.head.text[max(from, at):end])
		}
		from = end
	}
}

// deliver gives the text of one content token to the sink, less a rune that it leaves unfinished.
func (p *StreamParser) deliver(text []byte) {
	if len(p.held) == 0 && validPrefix(text) == len(text) {
		p.sink.Content(text, 1)
		return
	}
	p.held = append(p.held, text...)
	before := validPrefix(p.held)
	out, used := appendRepaired(p.out[:0], p.held, false)
	if used > before {
		p.seen[InvalidText]++
	}
	p.out = out
	p.held = slices.Delete(p.held, 0, used)
	p.sink.Content(p.out, 1)
}
