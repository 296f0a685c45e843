package backend

// Trimmer takes the ids of the prompt out of a stream of JSON, wherever the network cut it. A server that is asked for
// token ids sends the prompt's back too, eight bytes each in its first event, and the gateway does not need them: without
// a Trimmer a long prompt would be held twice. The zero Trimmer is ready.
//
// It is an automaton over bytes: looking for the key, between key and array, inside the array. An unescaped quote
// before the key's name can only open it, so no text inside a string is ever taken for it. Where no part of the key is
// matched, it searches for the key in larger steps.
type Trimmer struct {
	// matched is how much of promptKey the last bytes are.
	matched int
	// inside reports whether the array has begun and has not ended.
	inside bool
}

const promptKey = `"prompt_token_ids":`

// Trim returns chunk without what lies inside the array; the result lies in chunk's own memory.
func (t *Trimmer) Trim(chunk []byte) []byte {
	kept := chunk[:0]
	for len(chunk) > 0 {
		n := 0
		if t.inside {
			// An event's data is one line: an array that does not end in it does not end at all.
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

// outside returns how much of chunk lies before the array, its bracket included.
func (t *Trimmer) outside(chunk []byte) int {
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

// step takes a byte outside of the array.
func (t *Trimmer) step(c byte) {
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

// keyShifts are how far a byte in the place of promptKey's last one is from where it stands last before that, for each
// byte of the key.
var keyShifts = [256]uint8{
	'"': 1, 's': 2, 'd': 3, 'i': 4, '_': 5, 'n': 6, 'e': 7, 'k': 8, 'o': 9, 't': 10, 'p': 13, 'm': 14, 'r': 16,
}

// searchKey returns the first place from at on where promptKey stands, or may begin to stand at the end of b; it is len(b)
// where there is none. It looks at few bytes in between, as Horspool's algorithm does.
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

// isKey reports whether b, which is as long as promptKey or longer, begins with it. It compares byte by byte, because
// TinyGo makes garbage for a comparison with a string.
func isKey(b []byte) bool {
	for i := len(promptKey) - 1; i >= 0; i-- {
		if b[i] != promptKey[i] {
			return false
		}
	}
	return true
}
