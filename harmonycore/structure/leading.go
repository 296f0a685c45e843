package structure

// maxLeadingSpace is the most space before a leading mark, in bytes.
const maxLeadingSpace = 256

// leading finds a mark at the beginning of a text, after space.
type leading struct {
	mark string
	// held is the text so far: space, and the beginning of the mark. space is the length of the space.
	held  []byte
	space int
}

type verdict uint8

const (
	undecided verdict = iota
	marked
	unmarked
)

// next reads on from b until it is decided whether the text begins with the mark. used is how much of b is in held, or
// in the mark.
func (l *leading) next(b []byte) (v verdict, used int) {
	for i, c := range b {
		matched := len(l.held) - l.space
		switch {
		case c == l.mark[matched]:
			l.held = append(l.held, c)
			if matched+1 == len(l.mark) {
				return marked, i + 1
			}
		case matched == 0 && isSpace(c) && l.space < maxLeadingSpace:
			l.held = append(l.held, c)
			l.space++
		default:
			return unmarked, i
		}
	}
	return undecided, len(b)
}

// begin waits for mark, and drops what is held.
func (l *leading) begin(mark string) { l.mark, l.held, l.space = mark, l.held[:0], 0 }

// take returns what is held, and rest after it.
func (l *leading) take(rest []byte) []byte {
	held := l.held
	l.held = nil
	return append(held, rest...)
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// leadingSpace returns the length of the space with which b begins.
func leadingSpace(b []byte) int {
	n := 0
	for n < len(b) && isSpace(b[n]) {
		n++
	}
	return n
}
