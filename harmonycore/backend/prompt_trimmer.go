package backend

// promptTrimmer removes the prompt's token ids from a stream of JSON, wherever the network cut the stream. A server
// that is asked for token ids also sends the prompt's, about eight bytes each, in its first event. The gateway does
// not need them, and without a promptTrimmer it would hold a long prompt twice. The zero promptTrimmer is ready for use.
//
// It is an automaton over bytes with three states: looking for the key, between key and array, inside the array. An
// unescaped quote before the key's name can only open the key, so text inside a string is never mistaken for it. While
// no part of the key is matched, it searches in larger steps.
type promptTrimmer struct {
	// matched is the length of the longest prefix of [promptKey] that the last bytes are.
	matched int
	// inside reports whether the last byte lies inside the array.
	inside bool
}

const promptKey = `"prompt_token_ids":`

// trim returns chunk without the contents of the array. The result lies in chunk's memory.
func (t *promptTrimmer) trim(chunk []byte) []byte {
	kept := chunk[:0]
	for len(chunk) > 0 {
		n := 0
		if t.inside {
			// The data of an event is one line, so an array without an end in that line has none.
			for n < len(chunk) && chunk[n] != ']' && chunk[n] != '\n' {
				n++
			}
			t.inside = n == len(chunk)
		} else {
			n = t.outside(chunk)
			kept = append(kept, chunk[:n]...)
		}
		chunk = chunk[n:]
	}
	return kept
}

// outside returns the number of bytes of chunk up to the array, its opening bracket included.
func (t *promptTrimmer) outside(chunk []byte) int {
	for at := 0; ; at++ {
		if t.matched == 0 {
			at = searchKey(chunk, at)
		}
		if at >= len(chunk) {
			return len(chunk)
		}
		if t.step(chunk[at]); t.inside {
			return at + 1
		}
	}
}

// step reads one byte outside the array.
func (t *promptTrimmer) step(c byte) {
	switch {
	case t.matched < len(promptKey) && c == promptKey[t.matched]:
		t.matched++
	case t.matched == len(promptKey) && c == ' ':
	case t.matched == len(promptKey) && c == '[':
		t.matched, t.inside = 0, true
	case t.matched == len(promptKey)-1 && c == promptKey[1]:
		t.matched = 2 // the quote before it begins another key
	case c == '"':
		t.matched = 1
	default:
		t.matched = 0
	}
}

// keyShifts holds, for each byte of [promptKey], its distance from the key's last position. It counts from the byte's
// last occurrence before that position.
var keyShifts = [256]uint8{
	'"': 1, 's': 2, 'd': 3, 'i': 4, '_': 5, 'n': 6, 'e': 7, 'k': 8, 'o': 9, 't': 10, 'p': 13, 'm': 14, 'r': 16,
}

// searchKey returns the first place, from at on, where [promptKey] stands, or where a part of it may stand at the end
// of b. It returns len(b) if there is none. Like Horspool's algorithm, it looks at few of the bytes in between.
func searchKey(b []byte, at int) int {
	const last = len(promptKey) - 1
	for at+last < len(b) {
		c := b[at+last]
		if c == promptKey[last] && isKey(b[at:]) {
			break
		}
		shift := int(keyShifts[c])
		if shift == 0 {
			shift = len(promptKey)
		}
		at += shift
	}
	return min(at, len(b))
}

// isKey reports whether b begins with [promptKey]. b must be at least as long. It compares byte by byte, because TinyGo
// allocates for a comparison with a string.
func isKey(b []byte) bool {
	for i := len(promptKey) - 1; i >= 0; i-- {
		if b[i] != promptKey[i] {
			return false
		}
	}
	return true
}
