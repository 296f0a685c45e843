package backend

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// repetition is what the events of a cumulative stream repeat: each has all text and all ids of those before it. What
// the last event had is compared with the next event, eight bytes at a time, and only what is new is read.
//
// The zero repetition keeps nothing.
type repetition struct {
	// trimmer is the trimmer of the events that are read without a template.
	trimmer *sglangTrimmer
	// cumulative reports whether events repeat what came before, and have one choice. off reports whether events are no
	// longer read by their template.
	cumulative, off bool
	// text and ids are what the last event had between the quotes and between the brackets. count is the number of ids.
	text, ids []byte
	count     int
	// dropped is the number of ids that were not read again in the event that was read last.
	dropped int
	// newText and newIDs are what that event has more.
	newText, newIDs newPart
}

// A newPart is the part of an event between two positions. same is the size of what stands before it and is as in the
// last event.
type newPart struct{ same, from, to int }

// size returns the size of the whole value.
func (p newPart) size() int { return p.same + p.to - p.from }

// maxRepeated is the largest text, and the largest list of ids, that a stream keeps for the next event, in bytes. They
// are enough for some 5,000 tokens. Longer answers are read without a template.
const maxRepeated = 32 << 10

// begin prepares for another event.
func (r *repetition) begin() { r.dropped, r.newText, r.newIDs = 0, newPart{}, newPart{} }

// readText skips a string. It accepts the strings that [sglangTrimmer] leaves out. It returns the position after the
// string, or -1.
func (r *repetition) readText(b []byte, at int) int {
	if byteAt(b, at) != '"' {
		return -1
	}
	at++
	p := newPart{from: at}
	if end := rawjson.After(b, at, r.text); end >= 0 {
		p = newPart{same: end - at, from: end}
	}
	for at = p.from; ; at += 2 {
		at += runText(b[at:])
		switch {
		case byteAt(b, at) == '"':
			p.to = at
			r.newText = p
			return at + 1
		case byteAt(b, at) != '\\' || byteAt(b, at+1) < ' ':
			return -1
		}
	}
}

// readIDs reads an array of ids, without those that the last event had. It returns the position after the array, or -1.
func (r *repetition) readIDs(b []byte, at int, e *Event) int {
	if r.off || r.trimmer.dropped > 0 { // by a line that is no event's
		return -1
	}
	p, end := newPart{from: at + 1}, -1
	if same := rawjson.After(b, at+1, r.ids); same >= 0 && r.count > 0 && b[at] == '[' {
		switch byteAt(b, same) {
		case ',':
			end = readIDList(b, same+1, &e.Tokens)
		case ']':
			end = same + 1
		}
		if end >= 0 {
			r.dropped, p = r.count, newPart{same: len(r.ids), from: same}
		}
	}
	if end < 0 {
		e.Tokens = e.Tokens[:0]
		end = readGapIDs(b, at, &e.Tokens)
	}
	p.to = end - 1
	r.newIDs = p
	return end
}

// keep keeps the event's text and ids for the next event, once all of it has been read.
func (r *repetition) keep(b []byte, e *Event) {
	if !r.cumulative {
		return
	}
	if r.newText.size() > maxRepeated || r.newIDs.size() > maxRepeated {
		r.off, r.text, r.ids = true, nil, nil
		return
	}
	r.text = append(r.text[:r.newText.same], b[r.newText.from:r.newText.to]...)
	r.ids = append(r.ids[:r.newIDs.same], b[r.newIDs.from:r.newIDs.to]...)
	r.count = r.dropped + len(e.Tokens)
}
