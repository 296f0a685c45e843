package structure

import "bytes"

// meaning is a mark in a list of [marks], and what it means there.
type meaning struct {
	text string
	does action
	body body
}

type action uint8

const (
	// nothing is a mark that is no text.
	nothing action = iota
	beginsThinking
	endsThinking
	beginsCall
	beginsCalls
	endsCall
	// The marks within a call.
	beginsKey
	beginsValue
	endsValue
	endsName
)

// marks are the marks that mean something at one place. Each begins with one of two bytes.
type marks struct {
	all    []meaning
	first  byte
	second byte
}

func (m *marks) add(does action, texts ...string) {
	for _, text := range texts {
		m.put(meaning{text: text, does: does})
	}
}

func (m *marks) put(one meaning) {
	if one.text == "" {
		return
	}
	for i := range m.all {
		if m.all[i].text == one.text {
			return // the first meaning counts
		}
	}
	if len(m.all) == 0 {
		m.first, m.second = one.text[0], one.text[0]
	} else if one.text[0] != m.first {
		m.second = one.text[0]
	}
	m.all = append(m.all, one)
}

// find returns the first mark in b and where it begins. Without one it returns nil, and how much of b cannot be the
// beginning of a mark. Unless more of the text may come, that is all of b.
func (m *marks) find(b []byte, last bool) (at int, found *meaning) {
	for i := 0; i < len(b); i++ {
		if m.first == m.second {
			next := bytes.IndexByte(b[i:], m.first)
			if next < 0 {
				return len(b), nil
			}
			i += next
		} else if b[i] != m.first && b[i] != m.second {
			continue
		}
		rest, partial := b[i:], false
		for k := range m.all {
			one := &m.all[k]
			n := min(len(one.text), len(rest))
			if string(rest[:n]) != one.text[:n] {
				continue
			}
			if n == len(one.text) {
				return i, one
			}
			partial = true
		}
		if partial && !last {
			return i, nil
		}
	}
	return len(b), nil
}

// begins reports whether b begins with text, or, unless last is set, with the beginning of it and nothing else.
func begins(b []byte, text string, last bool) (whole, partial bool) {
	n := min(len(text), len(b))
	if string(b[:n]) != text[:n] {
		return false, false
	}
	return n == len(text), n < len(text) && !last
}
