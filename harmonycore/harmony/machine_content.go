package harmony

import (
	"slices"

	"github.com/harmonyedge/harmonyedge/internal/wholerunes"
)

// bytesPerToken is the assumed size of a token where only text is known. It is close to the mean of English prose.
const bytesPerToken = 4

func (m *machine) open(h Header) {
	if m.stopped {
		m.recoveries[AfterStop]++
		m.stopped = false
	}
	m.state = inContent
	m.opened++
	m.sink.Open(h)
}

func (m *machine) close(end End) {
	if len(m.held) > 0 {
		var repair wholerunes.Repaired
		m.out, repair = wholerunes.AppendRepaired(m.out[:0], m.held, true)
		m.recoveries[InvalidText] += repair.Parts
		m.held = m.held[:0]
		m.sink.Content(m.out, 0)
	}
	m.state = between
	m.stopped = end == EndedByReturn || end == EndedByCall && !m.transcript
	m.sink.Close(end)
}

// deliverHeld delivers the header's text from the byte at on as content. It delivers each token alone, or in a bytewise
// buffer each stretch between two control tokens, so that no event joins text that a control token separated.
func (m *machine) deliverHeld(at int) {
	from := 0
	for i, end := range m.head.ends {
		if end > at {
			m.delivering = m.head.numbers[i]
			m.deliver(m.head.text[max(from, at):end])
		}
		from = end
	}
	if !m.head.bytewise {
		return
	}
	from = at
	for _, mark := range m.head.marks {
		if mark.at > from {
			m.deliver(m.head.text[from:mark.at])
			from = mark.at
		}
	}
	if from < len(m.head.text) {
		m.deliver(m.head.text[from:])
	}
}

// deliver sends content to the sink, one token of it or any bytes. It holds back an incomplete rune at the end.
func (m *machine) deliver(text []byte) {
	if len(m.held) == 0 {
		n := wholerunes.ValidPrefix(text)
		if whole := n == len(text); whole || m.head.bytewise && n > 0 {
			tokens := m.tokens(n)
			m.sink.Content(text[:n], tokens)
			if whole {
				return
			}
			text = text[n:]
		}
	}
	m.held = append(m.held, text...)
	out, repair := wholerunes.AppendRepaired(m.out[:0], m.held, false)
	m.recoveries[InvalidText] += repair.Parts
	m.out = out
	m.held = slices.Delete(m.held, 0, repair.Used)
	tokens := m.tokens(len(text))
	m.sink.Content(m.out, tokens)
}

// tokens returns how many content tokens n more bytes are. From a [StreamParser] it is one. From a [TextParser] it is
// an estimate, whose sum does not depend on how the bytes are cut.
func (m *machine) tokens(n int) int {
	if !m.head.bytewise {
		return 1
	}
	n += m.spareBytes
	m.spareBytes = n % bytesPerToken
	return n / bytesPerToken
}
