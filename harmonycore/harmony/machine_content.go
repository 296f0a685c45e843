package harmony

import "slices"

// bytesPerToken is what a token of text is taken to be where only text is known: near the mean of English prose.
const bytesPerToken = 4

func (m *machine) open(h Header) {
	if m.stopped {
		m.seen[AfterStop]++
		m.stopped = false
	}
	m.state = inContent
	m.opened++
	m.sink.Open(h)
}

func (m *machine) close(end End) {
	if len(m.held) > 0 {
		var repair repaired
		m.out, repair = appendRepaired(m.out[:0], m.held, true)
		m.seen[InvalidText] += repair.parts
		m.held = m.held[:0]
		m.sink.Content(m.out, 0)
	}
	m.state = between
	m.stopped = end == EndedByReturn || end == EndedByCall && !m.transcript
	m.sink.Close(end)
}

// deliverHeld delivers the header's text as content, from the byte at on: token by token, or what stands between two
// control tokens, so that no event joins what one of them parted.
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

// deliver gives content to the sink, less a rune that it leaves unfinished: one token of it, or any bytes.
func (m *machine) deliver(text []byte) {
	if len(m.held) == 0 {
		n := validPrefix(text)
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
	out, repair := appendRepaired(m.out[:0], m.held, false)
	m.seen[InvalidText] += repair.parts
	m.out = out
	m.held = slices.Delete(m.held, 0, repair.used)
	tokens := m.tokens(len(text))
	m.sink.Content(m.out, tokens)
}

// tokens is how many content tokens n more bytes are: the one that they are from, or an estimate that adds up to the
// same however the bytes are cut.
func (m *machine) tokens(n int) int {
	if !m.head.bytewise {
		return 1
	}
	n += m.spare
	m.spare = n % bytesPerToken
	return n / bytesPerToken
}
