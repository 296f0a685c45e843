package harmony

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/jsontext"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// State is where a StrictParser stands.
type State uint8

// The states, numbered as `harmony inspect parse` prints them.
const (
	ExpectingStart State = iota
	InHeader
	InContent
)

// StrictParser reads token ids as the reference's StreamableParser does, equal to it in every observable after every
// token, also after errors. It is a Moore machine of three states:
//
//	ExpectingStart --START--> InHeader --MESSAGE--> InContent --END, RETURN, CALL, end of stream--> ExpectingStart
//
// An error leaves the state as it was, except that a bad header before MESSAGE leaves ExpectingStart.
type StrictParser struct {
	t      *tokenizer.Tokenizer
	strict bool
	state  State
	// pending is the role given in advance, until a header was read.
	pending Role
	header  strictHeader
	// headerTokens are those of the header that is being read.
	headerTokens []uint32
	text         strictText
	messages     []Message
	tokens       []uint32
}

// NewStrictParser makes a parser. With a role it stands as behind "<|start|>role". strict is the reference's own flag:
// without it a stop token inside the first header recovers a message.
func NewStrictParser(t *tokenizer.Tokenizer, role Role, strict bool) *StrictParser {
	p := &StrictParser{t: t, strict: strict, pending: role}
	if role != 0 {
		p.state = InHeader
	}
	return p
}

// State is the parser's state.
func (p *StrictParser) State() State { return p.state }

// Role is the role of the message being read, or the role given in advance until then.
func (p *StrictParser) Role() Role {
	if p.state == InContent {
		return p.header.role
	}
	return p.pending
}

// Channel is the channel of the message whose content is being read.
func (p *StrictParser) Channel() Optional { return p.inContent(p.header.channel) }

// Recipient is the recipient of the message whose content is being read.
func (p *StrictParser) Recipient() Optional { return p.inContent(p.header.recipient) }

// ContentType is the content type of the message whose content is being read.
func (p *StrictParser) ContentType() Optional { return p.inContent(p.header.typ) }

// LastDelta is the text that the last token added to the content.
func (p *StrictParser) LastDelta() Optional { return p.inContent(p.text.delta()) }

// Content is the sum of the deltas of the message being read; what is held back at its end is only in Messages.
func (p *StrictParser) Content() string { return p.text.whole.String() }

// Messages are the messages read so far.
func (p *StrictParser) Messages() []Message { return p.messages }

// Tokens are all tokens fed, also those that failed.
func (p *StrictParser) Tokens() []uint32 { return p.tokens }

func (p *StrictParser) inContent(o Optional) Optional {
	if p.state != InContent {
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
	_, stop := endOf(id)
	switch p.state {
	case ExpectingStart:
		if id != tokenizer.Start {
			return p.fail(ExpectedStart, "Unexpected token "+decimal(id)+" while expecting start token 200006")
		}
		p.state = InHeader
		p.headerTokens = p.headerTokens[:0]
	case InHeader:
		switch {
		case id == tokenizer.Message:
			return p.readHeader()
		case stop && !p.strict:
			return p.salvage()
		}
		p.headerTokens = append(p.headerTokens, id)
	case InContent:
		if stop {
			p.emit()
			return nil
		}
		p.text.push(p.t, id)
	}
	return nil
}

// ProcessEOS ends the stream.
func (p *StrictParser) ProcessEOS() error {
	switch p.state {
	case InHeader:
		return &ParseError{Kind: EndInHeader, Token: len(p.tokens), Message: "Unexpected EOS while waiting for message header to complete"}
	case InContent:
		p.emit()
	}
	return nil
}

func (p *StrictParser) fail(kind ParseErrorKind, message string) error {
	return &ParseError{Kind: kind, Token: len(p.tokens) - 1, Message: message}
}

func (p *StrictParser) readHeader() error {
	p.state = ExpectingStart
	raw, ok := p.t.AppendDecode(nil, p.headerTokens)
	if !ok || !utf8.Valid(raw) {
		return p.fail(Undecodable, "could not decode header")
	}
	h, kind, message := readHeader(string(raw), p.pending, false)
	if kind != 0 {
		return p.fail(kind, message)
	}
	p.header = h
	p.pending = 0
	p.state = InContent
	p.text.reset()
	return nil
}

// salvage is the non-strict mode's way out of a header that a stop token ended. It only works for a role given in
// advance; every later header is lost without a word.
func (p *StrictParser) salvage() error {
	if p.pending != 0 && len(p.headerTokens) > 0 {
		raw, ok := p.t.AppendDecode(nil, p.headerTokens)
		if !ok {
			return p.fail(Undecodable, "Could not decode tokens: Invalid token error: Invalid token for decoding: "+p.unknownToken())
		}
		if !utf8.Valid(raw) {
			return p.fail(Undecodable, "Could not decode tokens: Invalid utf-8 sequence: "+utf8Complaint(raw))
		}
		h, kind, message := readHeader(string(raw), p.pending, true)
		if kind != 0 {
			return p.fail(kind, message)
		}
		p.messages = append(p.messages, Message{Role: h.role, Channel: h.channel, Content: Text(h.unassigned.Value)})
	}
	p.state = ExpectingStart
	p.pending = 0
	return nil
}

func (p *StrictParser) unknownToken() string {
	for _, id := range p.headerTokens {
		if _, ok := p.t.TokenBytes(id); !ok {
			return decimal(id)
		}
	}
	return ""
}

// utf8Complaint is how the reference's library describes the first bad bytes.
func utf8Complaint(raw []byte) string {
	at := validPrefix(raw)
	if at == len(raw) {
		return ""
	}
	n, cut := badPrefix(raw[at:])
	if cut {
		return "incomplete utf-8 byte sequence from index " + decimal(uint32(at))
	}
	return "invalid utf-8 sequence of " + decimal(uint32(n)) + " bytes from index " + decimal(uint32(at))
}

func (p *StrictParser) emit() {
	p.messages = append(p.messages, Message{
		Role: p.header.role, Name: p.header.name, Recipient: p.header.recipient, Channel: p.header.channel,
		ContentType: p.header.typ, Content: Text(p.text.finish(p.t)),
	})
	p.state = ExpectingStart
	p.text.reset()
}

func decimal(n uint32) string { return string(jsontext.AppendInt(nil, int64(n))) }

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
