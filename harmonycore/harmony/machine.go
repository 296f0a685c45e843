package harmony

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
)

// MaxHeaderTokens is the longest header that a [StreamParser] or a [TextParser] waits for. A longer header becomes
// content. In a [TextParser] four bytes of text count as a token.
const MaxHeaderTokens = 256

type streamState uint8

const (
	between streamState = iota
	inHeader
	inContent
	// atChannel is inside content, after a channel token. The text that follows decides what the token means.
	atChannel
)

// machine turns any sequence of symbols into messages. It never fails and never stops (RATIONALE.md#75). A symbol is a
// control token or a piece of text. A [StreamParser] passes the text of one ordinary token, a [TextParser] any bytes.
// The machine is a Mealy machine over the states above. It repairs what the grammar does not allow, and counts each
// repair as a [Recovery].
//
// Invariants, for every sequence: [Sink.Open], [Sink.Content] and [Sink.Close] come in that order; every byte taken as
// content is in exactly one [Sink.Content]; no control token is in any; a closed message never changes.
// [MaxHeaderTokens] bounds the memory.
type machine struct {
	sink Sink
	// form knows of messages that must go on. It may be nil.
	form  Unfinished
	state streamState
	// stopped reports whether a stop token (return or call) ended the last message.
	stopped bool
	// startMissing reports whether the header's start token is missing.
	startMissing bool
	// transcript reports whether the stream is a whole conversation: messages may follow calls, and the stream may end
	// with the beginning of one more message.
	transcript bool
	head       headerBuffer
	// delivering is the number of the token whose content the sink receives.
	delivering int
	// held are the bytes of an incomplete rune.
	held       []byte
	out        []byte
	recoveries Recoveries
	// spareBytes is the number of content bytes that do not make a whole token yet, where tokens are estimated.
	spareBytes int
	// opened is the number of messages opened so far.
	opened int
}

// finish ends the stream: it delivers what is held back and closes an open message with [Cut].
func (m *machine) finish() {
	switch m.state {
	case inHeader:
		prompted := m.transcript && m.head.explicit && len(m.head.marks) == 0 && m.head.onlyRoles()
		if !m.head.empty() && !prompted {
			m.endHeader(Cut)
		}
	case atChannel:
		m.notAHeader()
		m.close(Cut)
	case inContent:
		m.close(Cut)
	}
	m.state = between
}

// text takes text that is not cut into tokens. Outside content it proceeds byte by byte, so that the result does not
// depend on how the network cut the text.
func (m *machine) text(b []byte) {
	for len(b) > 0 && m.state != inContent {
		m.ordinary(b[:1])
		b = b[1:]
	}
	if len(b) > 0 {
		m.deliver(b)
	}
}

// begin opens a message whose header the caller has read. It first ends the message or the header before it.
func (m *machine) begin(h Header) {
	switch m.state {
	case inContent:
		m.close(EndedByEnd)
	case atChannel:
		m.notAHeader()
		m.close(EndedByEnd)
	case inHeader:
		if !m.head.empty() {
			m.endHeader(Cut)
		}
	}
	m.open(h)
}

func (m *machine) ordinary(text []byte) {
	switch m.state {
	case between:
		m.beginHeader(false)
		m.startMissing = true
		m.addToHeader(text)
	case inHeader:
		m.addToHeader(text)
	case inContent:
		m.delivering = m.head.taken - 1
		m.deliver(text)
	case atChannel:
		m.head.add(text)
		switch channelBegins(m.head.text) {
		case isChannel:
			m.recoveries[ChannelInContent]++
			m.close(Cut)
			m.state = inHeader
		case notChannel:
			m.notAHeader()
		default:
			if m.head.full() {
				m.notAHeader()
			}
		}
	}
}

func (m *machine) control(id uint32) {
	if m.state == atChannel {
		m.notAHeader()
	}
	end, ends := endOf(id)
	switch {
	case m.state == inContent && end != EndedByReturn && end != EndedByCall && m.form != nil && m.form.Unfinished():
		m.recoveries[StrayControl]++
	case ends:
		m.terminate(end)
	case id == tokenizer.Start:
		m.start()
	case id == tokenizer.Channel && m.state == inContent:
		m.state = atChannel
		m.head.reset(false)
		m.head.mark(id)
	case id == tokenizer.Channel, id == tokenizer.Constrain && m.state != inContent:
		if id == tokenizer.Channel && m.state == inHeader && m.head.isProse() {
			m.endHeader(Cut)
		}
		if m.state == between {
			m.beginHeader(false)
			m.startMissing = true
		}
		m.countMissingStart()
		m.head.mark(id)
		m.limitHeader()
	case id == tokenizer.Message && m.state != inContent:
		if m.state == between {
			m.recoveries[MissingStart]++
			m.open(Header{Role: Assistant, Channel: Final})
			return
		}
		m.countMissingStart()
		header, _ := m.head.read(false, Cut, &m.recoveries)
		m.open(header)
	default:
		m.recoveries[StrayControl]++
	}
}

func (m *machine) terminate(end End) {
	switch m.state {
	case inContent:
		m.close(end)
	case inHeader:
		if !m.head.empty() {
			m.endHeader(end)
			return
		}
		m.state = between
		m.recoveries[StrayTerminator]++
	default:
		m.recoveries[StrayTerminator]++
	}
}

func (m *machine) start() {
	switch m.state {
	case inHeader:
		if !m.startMissing {
			m.recoveries[DoubledStart]++
		}
		if !m.head.empty() {
			m.endHeader(Cut)
		}
	case inContent:
		m.recoveries[MissingEnd]++
		m.close(Cut)
	}
	m.beginHeader(true)
}

// beginHeader waits for a header. explicit reports whether a start token stood before it, so that a role must follow.
func (m *machine) beginHeader(explicit bool) {
	m.state = inHeader
	m.startMissing = false
	m.head.reset(explicit)
}

func (m *machine) countMissingStart() {
	if m.startMissing {
		m.recoveries[MissingStart]++
		m.startMissing = false
	}
}

func (m *machine) addToHeader(text []byte) {
	m.head.add(text)
	if m.form != nil && m.readSpelled() {
		return
	}
	if m.head.headless() && !mayBeHeader(m.head.text) {
		m.openImplicit()
		return
	}
	m.limitHeader()
}

// openImplicit opens a message for text that has no header.
func (m *machine) openImplicit() {
	m.recoveries[ImplicitFinal]++
	m.open(Header{Role: Assistant, Channel: Final})
	m.deliverHeld(0)
}

func (m *machine) limitHeader() {
	if !m.head.full() {
		return
	}
	m.recoveries[LongHeader]++
	if m.endAnswers(); !m.head.full() {
		return
	}
	header, from := m.head.read(true, EndedByEnd, &m.recoveries)
	m.open(defaultToFinal(header))
	m.deliverHeld(from)
}

// endHeader ends a header that lacks its message token: the words that are fields count as fields, the rest is content.
func (m *machine) endHeader(end End) {
	m.endAnswers()
	m.endLastHeader(end)
}

// endAnswers ends all headers but the last: a channel token after words of an answer begins another header.
func (m *machine) endAnswers() {
	for i := m.head.answerEnd(); i >= 0; i = m.head.answerEnd() {
		whole := m.head
		m.head = whole.before(i)
		m.endLastHeader(Cut)
		m.head = whole
		m.head.drop(i)
		m.state = inHeader
	}
}

func (m *machine) endLastHeader(end End) {
	if m.head.headless() && !m.head.hasRecipient() {
		if m.head.onlyRoles() {
			m.state = between
			m.recoveries[DroppedHeader]++
			return
		}
		m.openImplicit()
		m.close(end)
		return
	}
	header, from := m.head.read(true, end, &m.recoveries)
	if from >= len(m.head.text) && (header.Recipient == "" || end == Cut) {
		m.state = between
		m.recoveries[DroppedHeader]++
		return
	}
	m.recoveries[MissingMessage]++
	m.open(defaultToFinal(header))
	m.deliverHeld(from)
	m.close(end)
}

func defaultToFinal(h Header) Header {
	if h.Channel == "" && h.Recipient == "" {
		h.Channel = Final
	}
	return h
}

// notAHeader returns the text after a channel token to the content around it.
func (m *machine) notAHeader() {
	m.recoveries[StrayControl]++
	m.state = inContent
	m.deliverHeld(0)
}

// headerMarks are the control tokens of a header, and their spellings.
var headerMarks = [...]struct {
	id       uint32
	spelling []byte
}{
	{tokenizer.Channel, []byte(channelSpelling)}, {tokenizer.Constrain, []byte(constrainSpelling)},
	{tokenizer.Message, []byte("<|message|>")},
}

// readSpelled reads a control token that the header's text spells out. A server that holds a model to a form of text
// takes the spelling for the token. readSpelled reports whether there is one, or the beginning of one where nothing else
// can be a header.
func (m *machine) readSpelled() bool {
	for _, mark := range headerMarks {
		at := bytes.Index(m.head.text, mark.spelling)
		if at < 0 {
			continue
		}
		m.recoveries[LooseWords]++
		rest := bytes.Clone(m.head.text[at+len(mark.spelling):])
		m.head.cut(at)
		if m.control(mark.id); len(rest) > 0 {
			m.ordinary(rest)
		}
		return true
	}
	return m.head.headless() && isProperPrefix(m.head.text, channelSpelling)
}
