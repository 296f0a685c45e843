package structure

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/internal/wholerunes"
)

// Messages passes text on as messages. Every [Adapter] may use it: the sink gets whole runes and valid UTF-8 only, and
// no message without text.
type Messages struct {
	sink harmony.Sink
	open bool
	// header is the header of the open message.
	header harmony.Header
	// held are the bytes of an incomplete rune.
	held, out []byte
	// taken is the number of bytes of text taken.
	taken      int
	recoveries harmony.Recoveries
}

// NewMessages returns Messages for a sink.
func NewMessages(sink harmony.Sink) *Messages { return &Messages{sink: sink} }

// Reasoning adds to the open message if that is reasoning, or else to a new one.
func (m *Messages) Reasoning(text []byte) {
	m.add(harmony.Header{Role: harmony.Assistant, Channel: harmony.Analysis}, text)
}

// Answer adds to the open message if that is an answer, or else to a new one.
func (m *Messages) Answer(text []byte) {
	m.add(harmony.Header{Role: harmony.Assistant, Channel: harmony.Final}, text)
}

// Call opens a message that calls recipient, such as functions.NAME. Arguments adds to it.
func (m *Messages) Call(recipient string) {
	m.Close(harmony.EndedByEnd)
	m.begin(harmony.Header{
		Role: harmony.Assistant, Channel: harmony.Commentary, Recipient: recipient, ContentType: "json",
	})
}

// Arguments adds to the call that is open. Without one the text is an answer.
func (m *Messages) Arguments(text []byte) {
	if !m.open || m.header.Recipient == "" {
		m.Answer(text)
		return
	}
	m.deliver(text)
}

// Close closes the open message, if any.
func (m *Messages) Close(end harmony.End) {
	if !m.open {
		return
	}
	if len(m.held) > 0 {
		m.repair(nil, true)
	}
	m.open = false
	m.sink.Close(end)
}

// Finish closes the open message at the end of the answer. whole reports whether the model has ended it by itself.
func (m *Messages) Finish(whole bool) {
	switch {
	case !whole:
		m.Close(harmony.Cut)
	case m.header.Recipient != "":
		m.Close(harmony.EndedByCall)
	default:
		m.Close(harmony.EndedByReturn)
	}
}

// Count counts a repair.
func (m *Messages) Count(kind harmony.Recovery) { m.recoveries[kind]++ }

// Recoveries returns the counts of the repairs so far.
func (m *Messages) Recoveries() harmony.Recoveries { return m.recoveries }

func (m *Messages) add(h harmony.Header, text []byte) {
	if len(text) == 0 {
		return
	}
	if !m.open || m.header != h {
		m.Close(harmony.EndedByEnd)
		m.begin(h)
	}
	m.deliver(text)
}

func (m *Messages) begin(h harmony.Header) {
	m.open, m.header = true, h
	m.sink.Open(h)
}

// deliver passes text of the open message on. It holds back an incomplete rune at the end.
func (m *Messages) deliver(text []byte) {
	if len(m.held) == 0 {
		n := wholerunes.ValidPrefix(text)
		if n > 0 {
			m.sink.Content(text[:n], m.tokens(n))
		}
		text = text[n:]
	}
	if len(text) > 0 {
		m.repair(text, false)
	}
}

// repair delivers what is held and text as valid UTF-8. Unless last is set, it holds back an incomplete rune.
func (m *Messages) repair(text []byte, last bool) {
	m.held = append(m.held, text...)
	out, repaired := wholerunes.AppendRepaired(m.out[:0], m.held, last)
	m.out = out
	m.recoveries[harmony.InvalidText] += repaired.Parts
	m.held = m.held[:copy(m.held, m.held[repaired.Used:])]
	if len(out) > 0 {
		m.sink.Content(out, m.tokens(repaired.Used))
	}
}

// tokens returns how many tokens the next n bytes are, by the estimate of [harmony.EstimateTokens].
func (m *Messages) tokens(n int) int {
	before := m.taken
	m.taken += n
	return harmony.EstimateTokens(m.taken) - harmony.EstimateTokens(before)
}
