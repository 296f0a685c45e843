package translate

// stops finds the client's stop sequences in a text that comes in pieces, and holds back what may be the beginning of one.
// The text ends before the sequence whose last byte comes first; where several end there, before the longest. Where the
// pieces are cut makes no difference.
//
// It is an automaton for each sequence, over bytes: at is how many of its first bytes the newest bytes are, and falls
// back by the Knuth-Morris-Pratt table when the next one does not fit. The zero stops finds nothing.
type stops struct {
	sequences []stopSequence
	// buffer is what is held, behind shown bytes of what add has returned last.
	buffer []byte
	shown  int
}

type stopSequence struct {
	text string
	// border of i is how long the longest proper prefix of text[:i+1] is that it also ends with.
	border []int
	at     int
}

func newStops(texts []string) stops {
	var s stops
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

// step takes the next byte and reports whether it completes the sequence.
func (q *stopSequence) step(c byte) bool {
	for q.at > 0 && (q.at == len(q.text) || q.text[q.at] != c) {
		q.at = q.border[q.at-1]
	}
	if q.text[q.at] == c {
		q.at++
	}
	return q.at == len(q.text)
}

// add takes more of the text and returns what is sure to be shown; found says that a sequence is complete, and that the
// text ends with what is returned. It lies in the automaton's memory until the next call.
func (s *stops) add(text []byte) (show []byte, found bool) {
	if len(s.sequences) == 0 {
		return text, false
	}
	s.buffer = append(s.buffer[:copy(s.buffer, s.buffer[s.shown:])], text...)
	s.shown = 0
	for i := len(s.buffer) - len(text); i < len(s.buffer); i++ {
		longest := 0
		for j := range s.sequences {
			if q := &s.sequences[j]; q.step(s.buffer[i]) {
				longest = max(longest, len(q.text))
			}
		}
		if longest > 0 {
			return s.buffer[:max(i+1-longest, 0)], true
		}
	}
	held := 0
	for j := range s.sequences {
		held = max(held, s.sequences[j].at)
	}
	s.shown = len(s.buffer) - held
	return s.buffer[:s.shown], false
}

// flush returns what was held back, at the end of the text; the next one begins anew.
func (s *stops) flush() []byte {
	held := s.buffer[s.shown:]
	s.buffer, s.shown = s.buffer[:0], 0
	for j := range s.sequences {
		s.sequences[j].at = 0
	}
	return held
}
