package structure

import (
	"bytes"
	"unicode/utf8"
)

// maxRepeated is how much reasoning is kept to be repeated as the answer, in bytes.
const maxRepeated = 32 << 10

// repeated keeps the end of a text. Its memory never grows beyond twice [maxRepeated].
type repeated struct {
	kept []byte
	// cut reports whether the text was longer than what is kept.
	cut bool
}

func (r *repeated) add(text []byte) {
	if len(text) > maxRepeated {
		text = text[len(text)-maxRepeated:]
		r.cut = true
	}
	if len(r.kept)+len(text) > 2*maxRepeated {
		r.drop(maxRepeated)
	}
	r.kept = append(r.kept, text...)
}

// drop keeps no more than n bytes.
func (r *repeated) drop(n int) {
	if len(r.kept) > n {
		r.kept = r.kept[:copy(r.kept, r.kept[len(r.kept)-n:])]
		r.cut = true
	}
}

// text returns the text, or if it was too long, its end from the beginning of a line on.
func (r *repeated) text() []byte {
	r.drop(maxRepeated)
	if !r.cut {
		return r.kept
	}
	if at := bytes.IndexByte(r.kept, '\n'); at >= 0 && at+1 < len(r.kept) {
		return r.kept[at+1:]
	}
	at := 0
	for at < len(r.kept) && at < utf8.UTFMax && !utf8.RuneStart(r.kept[at]) {
		at++
	}
	return r.kept[at:]
}

func (r *repeated) clear() { r.kept, r.cut = nil, false }
