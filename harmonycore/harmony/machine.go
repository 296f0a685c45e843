package harmony

import "github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"

// MaxHeaderTokens is the longest header that a [StreamParser] or a [TextParser] waits for; what grows longer becomes
// content. Four bytes of text count as a token.
const MaxHeaderTokens = 256

type streamState uint8

const (
	between streamState = iota
	inHeader
	inContent
	// atChannel is inside content, behind a channel token whose meaning the next text decides.
	atChannel
)

// machine turns any sequence of symbols into messages: it never fails and never stops (RATIONALE.md#75). A symbol is a
// control token or a piece of text: one ordinary token's from a [StreamParser], any bytes from a [TextParser]. It is a
// Mealy machine over the states above; what the grammar does not foresee is repaired and counted ([Recovery]).
//
// Invariants, for every sequence: [Sink.Open], [Sink.Content] and [Sink.Close] come in that order; every byte taken as
// content is in exactly one [Sink.Content]; control tokens are in none; a closed message is never touched again. Memory
// is bounded by [MaxHeaderTokens].
type machine struct {
	sink  Sink
	state streamState
	// stopped says that the last message ended with a stop token, return or call.
	stopped bool
	// lost says that the header's start token is missing.
	lost bool
	// transcript says that a whole conversation is read: messages follow calls, and the end may ask for one more.
	transcript bool
	head       headerBuffer
	// delivering is the number of the token whose content the sink is given.
	delivering int
	// held are the bytes of a rune that is not whole yet.
	held []byte
	out  []byte
	seen Recoveries
	// spare are the bytes of content that do not make a token yet, where tokens are estimated.
	spare int
	// opened is how many messages the sink was given.
	opened int
}

// finish ends the stream: what is held back is delivered, and an open message closes with [Cut].
func (m *machine) finish() {
	switch m.state {
	case inHeader:
		asked := m.transcript && m.head.explicit && len(m.head.marks) == 0 && m.head.onlyRoles()
		if !m.head.empty() && !asked {
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

// text takes text that no tokens cut. Outside content it goes byte by byte, so that what becomes of it does not depend
// on where the network cut it.
func (m *machine) text(b []byte) {
	for len(b) > 0 && m.state != inContent {
		m.ordinary(b[:1])
		b = b[1:]
	}
	if len(b) > 0 {
		m.deliver(b)
	}
}

// begin opens a message whose header the caller has read by itself; it ends the one before it.
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
		m.lost = true
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
			m.seen[ChannelInContent]++
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
			m.lost = true
		}
		m.countLost()
		m.head.mark(id)
		m.limitHeader()
	case id == tokenizer.Message && m.state != inContent:
		if m.state == between {
			m.seen[MissingStart]++
			m.open(Header{Role: Assistant, Channel: Final})
			return
		}
		m.countLost()
		header, _ := m.head.read(false, Cut, &m.seen)
		m.open(header)
	default:
		m.seen[StrayControl]++
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
		m.seen[StrayTerminator]++
	default:
		m.seen[StrayTerminator]++
	}
}

func (m *machine) start() {
	switch m.state {
	case inHeader:
		if !m.lost {
			m.seen[DoubledStart]++
		}
		if !m.head.empty() {
			m.endHeader(Cut)
		}
	case inContent:
		m.seen[MissingEnd]++
		m.close(Cut)
	}
	m.beginHeader(true)
}

// beginHeader waits for a header; explicit says that a start token stood before it, so that a role must follow.
func (m *machine) beginHeader(explicit bool) {
	m.state = inHeader
	m.lost = false
	m.head.reset(explicit)
}

func (m *machine) countLost() {
	if m.lost {
		m.seen[MissingStart]++
		m.lost = false
	}
}

func (m *machine) addToHeader(text []byte) {
	m.head.add(text)
	if m.head.headless() && !mayBeHeader(m.head.text) {
		m.openImplicit()
		return
	}
	m.limitHeader()
}

// openImplicit opens a message for text that has no header.
func (m *machine) openImplicit() {
	m.seen[ImplicitFinal]++
	m.open(Header{Role: Assistant, Channel: Final})
	m.deliverHeld(0)
}

func (m *machine) limitHeader() {
	if !m.head.full() {
		return
	}
	m.seen[LongHeader]++
	if m.endAnswers(); !m.head.full() {
		return
	}
	header, from := m.head.read(true, EndedByEnd, &m.seen)
	m.open(finalUnlessNamed(header))
	m.deliverHeld(from)
}

// endHeader ends a header that no message token has ended: the words that are fields stay so, the rest is content.
func (m *machine) endHeader(end End) {
	m.endAnswers()
	m.endLastHeader(end)
}

// endAnswers ends the headers before the last one: a channel token after words of an answer begins another header.
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
			m.seen[DroppedHeader]++
			return
		}
		m.openImplicit()
		m.close(end)
		return
	}
	header, from := m.head.read(true, end, &m.seen)
	if from >= len(m.head.text) && (header.Recipient == "" || end == Cut) {
		m.state = between
		m.seen[DroppedHeader]++
		return
	}
	m.seen[MissingMessage]++
	m.open(finalUnlessNamed(header))
	m.deliverHeld(from)
	m.close(end)
}

func finalUnlessNamed(h Header) Header {
	if h.Channel == "" && h.Recipient == "" {
		h.Channel = Final
	}
	return h
}

// notAHeader gives the text behind a channel token back to the content that it stands in.
func (m *machine) notAHeader() {
	m.seen[StrayControl]++
	m.state = inContent
	m.deliverHeld(0)
}
