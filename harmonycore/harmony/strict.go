package harmony

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// State is where a [StrictParser] stands.
type State uint8

// The states, numbered as `harmony inspect parse` prints them.
const (
	ExpectingStart State = iota
	InHeader
	InContent
)

// StrictParser reads token ids as the reference's StreamableParser does, equal to it in every observable after every
// token, also after errors. The automaton is strictMachine; here are the messages and the tokens that it keeps.
type StrictParser struct {
	machine  strictMachine
	text     strictText
	messages []Message
	tokens   []uint32
}

// NewStrictParser makes a parser. With a role it stands as behind "<|start|>role". strict is the reference's own flag:
// without it a stop token inside the first header recovers a message.
func NewStrictParser(t *tokenizer.Tokenizer, role Role, strict bool) *StrictParser {
	return &StrictParser{machine: newStrictMachine(t, role, strict)}
}

// State is the parser's state.
func (p *StrictParser) State() State { return p.machine.state }

// Role is the role of the message being read, or the role given in advance until then.
func (p *StrictParser) Role() Role {
	if p.machine.state == InContent {
		return p.machine.header.role
	}
	return p.machine.pending
}

// Channel is the channel of the message whose content is being read.
func (p *StrictParser) Channel() Optional { return p.inContent(p.machine.header.channel) }

// Recipient is the recipient of the message whose content is being read.
func (p *StrictParser) Recipient() Optional { return p.inContent(p.machine.header.recipient) }

// ContentType is the content type of the message whose content is being read.
func (p *StrictParser) ContentType() Optional { return p.inContent(p.machine.header.typ) }

// LastDelta is the text that the last token added to the content.
func (p *StrictParser) LastDelta() Optional { return p.inContent(p.text.delta()) }

// Content is the sum of the deltas of the message being read; what is held back at its end is only in
// [StrictParser.Messages].
func (p *StrictParser) Content() string { return p.text.whole.String() }

// Messages are the messages read so far.
func (p *StrictParser) Messages() []Message { return p.messages }

// Tokens are all tokens fed, also those that failed.
func (p *StrictParser) Tokens() []uint32 { return p.tokens }

func (p *StrictParser) inContent(o Optional) Optional {
	if p.machine.state != InContent {
		return Optional{}
	}
	return o
}

// Process takes one token.
func (p *StrictParser) Process(id uint32) error {
	if len(p.tokens) == cap(p.tokens) {
		p.tokens = slices.Grow(p.tokens, len(p.tokens)+growth)
	}
	p.tokens = append(p.tokens, id)
	step, err := p.machine.step(id)
	switch step {
	case stepOpen:
		p.text.reset()
	case stepContent:
		p.text.push(p.machine.t, id)
	case stepClose:
		p.emit()
	case stepSalvage:
		h := &p.machine.header
		p.messages = append(p.messages, Message{Role: h.role, Channel: h.channel, Content: Text(h.unassigned.Value)})
	}
	return err
}

// ProcessEOS ends the stream.
func (p *StrictParser) ProcessEOS() error {
	step, err := p.machine.end()
	if step == stepClose {
		p.emit()
	}
	return err
}

func (p *StrictParser) emit() {
	h := &p.machine.header
	p.messages = append(p.messages, Message{
		Role: h.role, Name: h.name, Recipient: h.recipient, Channel: h.channel,
		ContentType: h.typ, Content: Text(p.text.finish(p.machine.t)),
	})
	p.text.reset()
}

func decimal(n uint32) string { return string(rawjson.AppendInt(nil, int64(n))) }

// growth is what room is made for, tokens or bytes of content, beyond twice what there was.
const growth = 256

// strictText decodes content with the reference's own delays: one bad sequence is repaired per token, and one unknown
// id holds back the rest of the message. Deltas and the content so far are views of what has been built, which only
// ever grows: a token costs no memory but its text's.
type strictText struct {
	whole   strings.Builder
	tokens  []uint32
	bytes   []byte
	unknown bool
	// from is where in whole the last delta begins, if there is one.
	from  int
	fresh bool
}

func (s *strictText) delta() Optional {
	if !s.fresh {
		return Optional{}
	}
	return Some(s.whole.String()[s.from:])
}

func (s *strictText) reset() {
	s.whole.Reset()
	s.fresh = false
	s.tokens = s.tokens[:0]
	s.bytes = s.bytes[:0]
	s.unknown = false
}

func (s *strictText) push(t *tokenizer.Tokenizer, id uint32) {
	text, ok := t.TokenBytes(id)
	if s.fresh = ok && !s.unknown; !s.fresh {
		s.unknown = true
		s.tokens = append(s.tokens, id)
		return
	}
	s.from = s.whole.Len()
	if s.whole.Cap()-s.from < len(text) {
		s.whole.Grow(growth)
	}
	if len(s.bytes) == 0 && validPrefix(text) == len(text) {
		s.whole.Write(text)
		return
	}
	s.bytes = append(s.bytes, text...)
	valid := validPrefix(s.bytes)
	s.whole.Write(s.bytes[:valid])
	rest := s.bytes[valid:]
	if len(rest) > 0 {
		if bad, cut := badPrefix(rest); !cut {
			s.whole.WriteString(replacement)
			rest = rest[bad:]
		} else if valid == 0 {
			s.fresh = false
		}
	}
	s.bytes = append(s.bytes[:0], rest...)
}

// finish is the whole content; what was held back has never been a delta.
func (s *strictText) finish(t *tokenizer.Tokenizer) string {
	if len(s.tokens) > 0 {
		if raw, ok := t.AppendDecode(nil, s.tokens); ok && utf8.Valid(raw) {
			s.whole.Write(raw)
		} else {
			s.whole.WriteString(replacement)
		}
	}
	if len(s.bytes) > 0 {
		rest, _ := appendRepaired(nil, s.bytes, true)
		s.whole.Write(rest)
	}
	return s.whole.String()
}
