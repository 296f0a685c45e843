package translate

// Stops finds the client's stop sequences in a text that comes in pieces. It holds back text that may be the beginning
// of a sequence. The text ends before the sequence whose last byte comes first. If several end there, it ends before
// the longest. The result does not depend on where the pieces are cut.
//
// Each sequence has an automaton over bytes. Its state at is the number of the sequence's first bytes that the newest
// bytes match. If the next byte does not match, at falls back by the Knuth-Morris-Pratt table. The zero value finds
// nothing.
type Stops struct {
	sequences []stopSequence
	// buffer holds the bytes that Add returned last, of which there are shown, and then the bytes held back.
	buffer []byte
	shown  int
	// found is the sequence that ended the text.
	found string
}

type stopSequence struct {
	text string
	// border[i] is the length of the longest proper prefix of text[:i+1] that is also its suffix.
	border []int
	at     int
}

// NewStops returns what finds these sequences. Empty ones are ignored.
func NewStops(texts []string) Stops {
	var s Stops
	for _, text := range texts {
		if text != "" {
			s.sequences = append(s.sequences, stopSequence{text: text, border: borders(text)})
		}
	}
	return s
}

func borders(text string) []int {
	border := make([]int, len(text))
	n := 0
	for i := 1; i < len(text); i++ {
		for n > 0 && text[i] != text[n] {
			n = border[n-1]
		}
		if text[i] == text[n] {
			n++
		}
		border[i] = n
	}
	return border
}

// step reads the next byte and reports whether it completes the sequence.
func (q *stopSequence) step(c byte) bool {
	for q.at > 0 && (q.at == len(q.text) || q.text[q.at] != c) {
		q.at = q.border[q.at-1]
	}
	if q.text[q.at] == c {
		q.at++
	}
	return q.at == len(q.text)
}

// Add reads more of the text and returns the part that is certain to be shown. found reports whether a sequence is
// complete; the text then ends with show. show is valid until the next call.
func (s *Stops) Add(text []byte) (show []byte, found bool) {
	if len(s.sequences) == 0 {
		return text, false
	}
	s.buffer = append(s.buffer[:copy(s.buffer, s.buffer[s.shown:])], text...)
	s.shown = 0
	for i := len(s.buffer) - len(text); i < len(s.buffer); i++ {
		for j := range s.sequences {
			if q := &s.sequences[j]; q.step(s.buffer[i]) && len(q.text) > len(s.found) {
				s.found = q.text
			}
		}
		if s.found != "" {
			return s.buffer[:max(i+1-len(s.found), 0)], true
		}
	}
	held := 0
	for j := range s.sequences {
		held = max(held, s.sequences[j].at)
	}
	s.shown = len(s.buffer) - held
	return s.buffer[:s.shown], false
}

// Found returns the sequence that has ended the text, or an empty string.
func (s *Stops) Found() string { return s.found }

// Flush returns the text that was held back, at the end of a text. The next text starts afresh.
func (s *Stops) Flush() []byte {
	held := s.buffer[s.shown:]
	s.buffer, s.shown = s.buffer[:0], 0
	for j := range s.sequences {
		s.sequences[j].at = 0
	}
	return held
}
