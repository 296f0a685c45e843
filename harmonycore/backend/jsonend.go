package backend

// jsonEnd finds the end of a JSON object or array that comes in pieces. The zero value has seen nothing. Text that is
// neither never ends.
type jsonEnd struct {
	// hash is the FNV-1a hash of all bytes so far, or 0 if there are none.
	hash uint64
	// depth counts the open objects and arrays.
	depth             int32
	inString, escaped bool
	// ended reports whether the object or the array has ended. other reports whether the text is neither.
	ended, other bool
}

// add reads the next piece.
func (j *jsonEnd) add(piece []byte) {
	if len(piece) == 0 {
		return
	}
	j.hash = hashAfter(j.hash, piece)
	for _, c := range piece {
		j.next(c)
	}
}

func (j *jsonEnd) next(c byte) {
	switch {
	case j.ended, j.other:
	case j.inString:
		j.inString = j.escaped || c != '"'
		j.escaped = !j.escaped && c == '\\'
	case c == '{' || c == '[':
		j.depth++
	case j.depth == 0:
		j.other = c != ' ' && c != '\t' && c != '\r' && c != '\n'
	case c == '"':
		j.inString = true
	case c == '}' || c == ']':
		j.depth--
		j.ended = j.depth == 0
	}
}

// hashOf returns the FNV-1a hash of a text, or 0 for no text.
func hashOf(text []byte) uint64 {
	if len(text) == 0 {
		return 0
	}
	return hashAfter(0, text)
}

// hashAfter returns the hash of a text whose beginning has this hash.
func hashAfter(hash uint64, text []byte) uint64 {
	if hash == 0 {
		hash = 14695981039346656037
	}
	for _, c := range text {
		hash = (hash ^ uint64(c)) * 1099511628211
	}
	return max(hash, 1)
}
