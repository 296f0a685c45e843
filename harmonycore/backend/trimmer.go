package backend

// Trimmer takes the ids of the prompt out of a stream of JSON, wherever the network cut it. A server that is asked for
// token ids sends the prompt's back too, eight bytes each in its first event, and nobody needs them: without this a
// long prompt would be held twice. The zero Trimmer is ready.
//
// It is an automaton over bytes: looking for the key, between key and array, inside the array. An unescaped quote
// before the key's name can only open it, so no text inside a string is ever taken for it.
type Trimmer struct {
	// matched is how much of promptKey the last bytes are.
	matched int
	// inside says that the array has begun and has not ended.
	inside bool
}

const promptKey = `"prompt_token_ids":`

// Trim returns chunk without what lies inside the array; the result lies in chunk's own memory.
func (t *Trimmer) Trim(chunk []byte) []byte {
	kept := chunk[:0]
	for _, c := range chunk {
		if t.inside {
			// An event's data is one line: an array that does not end in it does not end at all.
			if c != ']' && c != '\n' {
				continue
			}
			t.inside = false
		} else {
			t.step(c)
		}
		kept = append(kept, c)
	}
	return kept
}

func (t *Trimmer) step(c byte) {
	switch {
	case t.matched < len(promptKey) && c == promptKey[t.matched]:
		t.matched++
	case t.matched == len(promptKey) && c == ' ':
	case t.matched == len(promptKey) && c == '[':
		t.matched, t.inside = 0, true
	case c == '"':
		t.matched = 1
	default:
		t.matched = 0
	}
}
