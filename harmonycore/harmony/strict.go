package harmony

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/wholerunes"
)

// State is the state of a [StrictParser].
type State uint8

// The states, numbered as `harmony inspect parse` prints them.
const (
	ExpectingStart State = iota
	InHeader
	InContent
)

// StrictParser reads token ids as the reference's StreamableParser does. All its observable values are equal to the
// reference's after every token, also after errors. The automaton is strictMachine; StrictParser keeps the messages and
// the tokens.
type StrictParser struct {
	machine  strictMachine
	text     strictText
	messages []Message
	tokens   []uint32
}

// NewStrictParser returns a parser. With a role, its first token follows "<|start|>role". strict is the reference's own
// flag: without it, a stop token inside the first header recovers a message.
func NewStrictParser(t *tokenizer.Tokenizer, role Role, strict bool) *StrictParser {
	return &StrictParser{machine: newStrictMachine(t, role, strict)}
}

// State returns the parser's state.
func (p *StrictParser) State() State { return p.machine.state }

// Role returns the role of the message being read, or until its content begins the role given in advance.
func (p *StrictParser) Role() Role {
	if p.machine.state == InContent {
		return p.machine.header.role
	}
	return p.machine.pending
}

// Channel returns the channel of the message whose content is being read.
func (p *StrictParser) Channel() Optional { return p.inContent(p.machine.header.channel) }

// Recipient returns the recipient of the message whose content is being read.
func (p *StrictParser) Recipient() Optional { return p.inContent(p.machine.header.recipient) }

// ContentType returns the content type of the message whose content is being read.
func (p *StrictParser) ContentType() Optional { return p.inContent(p.machine.header.typ) }

// LastDelta returns the text that the last token added to the content.
func (p *StrictParser) LastDelta() Optional { return p.inContent(p.text.delta()) }

// Content returns the sum of the deltas of the message being read. Text held back at the end of a message is only in
// [StrictParser.Messages].
func (p *StrictParser) Content() string { return p.text.whole.String() }

// Messages returns the messages read so far.
func (p *StrictParser) Messages() []Message { return p.messages }

// Tokens returns all tokens fed, including those that failed.
func (p *StrictParser) Tokens() []uint32 { return p.tokens }

func (p *StrictParser) inContent(o Optional) Optional {
	if p.machine.state != InContent {
		return Optional{}
	}
	return o
}

// Process takes the next token.
func (p *StrictParser) Process(id uint32) error {
	if len(p.tokens) == cap(p.tokens) {
		p.tokens = slices.Grow(p.tokens, len(p.tokens)+minGrowth)
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

// minGrowth is how much spare room is added at a time, in tokens or bytes of content.
const minGrowth = 256

// strictText decodes content with the reference's own delays: each token repairs at most one bad sequence, and one
// unknown id holds back the rest of the message. Deltas and the content so far are views of a text that only grows, so
// a token costs only the memory of its text.
type strictText struct {
	whole   strings.Builder
	tokens  []uint32
	bytes   []byte
	unknown bool
	// from is where the last delta begins in whole. fresh reports whether there is one.
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
		s.whole.Grow(minGrowth)
	}
	if len(s.bytes) == 0 && wholerunes.ValidPrefix(text) == len(text) {
		s.whole.Write(text)
		return
	}
	s.bytes = append(s.bytes, text...)
	valid := wholerunes.ValidPrefix(s.bytes)
	s.whole.Write(s.bytes[:valid])
	rest := s.bytes[valid:]
	if len(rest) > 0 {
		if invalid, cut := wholerunes.BadPrefix(rest); !cut {
			s.whole.WriteString(wholerunes.Replacement)
			rest = rest[invalid:]
		} else if valid == 0 {
			s.fresh = false
		}
	}
	s.bytes = append(s.bytes[:0], rest...)
}

// finish returns the whole content. It includes held-back text, which was never a delta.
func (s *strictText) finish(t *tokenizer.Tokenizer) string {
	if len(s.tokens) > 0 {
		if raw, ok := t.AppendDecode(nil, s.tokens); ok && utf8.Valid(raw) {
			s.whole.Write(raw)
		} else {
			s.whole.WriteString(wholerunes.Replacement)
		}
	}
	if len(s.bytes) > 0 {
		rest, _ := wholerunes.AppendRepaired(nil, s.bytes, true)
		s.whole.Write(rest)
	}
	return s.whole.String()
}
