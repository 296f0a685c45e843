package exchange

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/prefixmemory"
	"github.com/harmonyedge/harmonyedge/harmonycore/translate"
)

// This file remembers what a request was turned into, for [recall].

// note notes the parts of the prompt that the messages are.
func (r *recall) note(messages []harmony.Message, prompt []uint32) {
	s := r.scratch
	s.parts = s.parts[:0]
	for i := range messages {
		m, ids := &messages[i], prompt[s.ends[i]:s.ends[i+1]]
		p := prefixmemory.Part{Tokens: len(ids)}
		switch {
		case isFinal(m):
			p.Kind = prefixmemory.Lasting
		case m.Channel.Set && m.Channel.Value == harmony.Analysis:
			p.Kind = prefixmemory.Passing
			if len(ids) == 0 {
				p.Kind |= prefixmemory.Missing
			}
		}
		if m.Role == harmony.Tool {
			p.Kind |= prefixmemory.Foreign
		}
		s.parts = append(s.parts, p)
	}
	r.parts = s.parts
}

// remember remembers what the request was turned into. sent is what servers are asked.
func (r *recall) remember(t *translate.Request, asked *backend.Request, sent []byte) {
	if r == nil || asked.PromptAt == 0 || !t.Continues() {
		return
	}
	marks := t.Marks()
	if len(r.cuts) > 0 && r.cuts[0].Element+1 < t.Turned() && !r.resumed() {
		return // the parts before it are others without it
	}
	lasting, front := t.Lasting()
	if !r.resumed() {
		r.see(lasting, 0)
		r.state[stateFront] = int64(front)
	}
	text, first, done := sent[asked.PromptAt:], 0, 0
	from := 0
	for i, end := range asked.Ends {
		r.parts[i].Size, from = end-from, end
	}
	if r.resumed() {
		r.keep()
		first = marks[0].Messages
		done = first
	}
	for i, at := 0, 0; i < len(r.cuts); i++ {
		for at < len(marks) && marks[at].Element < r.cuts[i].Element {
			at++
		}
		if at == len(marks) || marks[at].Element != r.cuts[i].Element {
			return // the reader sees no such place
		}
		parts := r.parts[done-first : marks[at].Messages-first]
		done = marks[at].Messages
		size := 0
		for j := range parts {
			size += parts[j].Size
		}
		if size > len(text) || !r.add(i, &prefixmemory.Entry{Parts: parts, Text: text[:size]}, t, &marks[at]) {
			return
		}
		text = text[size:]
	}
}

// add remembers the part before a cut. It reports whether there was room for it.
func (r *recall) add(i int, e *prefixmemory.Entry, t *translate.Request, m *translate.Mark) bool {
	root := i == 0 && !r.resumed()
	s := &e.State
	*s = r.state
	s[stateOpen], s[stateLeft], s[stateOutside] = int64(r.open), int64(m.Left), int64(r.outside)
	s[stateUntil], s[stateSince] = earlier(s[stateUntil], m.Until), r.now
	s[stateLeading] = 0
	if root && m.Element == t.Marks()[0].Element {
		s[stateLeading] = 1
	}
	if !root || m.Element >= 0 {
		s[stateValues] += int64(max(r.values-r.outside, 0))
		s[stateEntries] += int64(t.Entries())
	}
	counts := t.CountsAt(m)
	s[stateDropped] = int64(counts.Dropped)
	for kind, n := range counts.Ignored {
		s[stateIgnored+kind] = int64(n)
	}
	n := 0
	for n < len(r.spans) && r.spans[n].To <= r.cuts[i].End {
		n++
	}
	e.Spans, r.spans = r.spans[:n], r.spans[n:]
	s[stateLasting] = int64(r.seen - len(r.spans))
	if root {
		if !r.match.AddRoot(r.owner, r.digests[i], r.rest, e) {
			return false
		}
	} else if !r.match.Add(r.digests[i], e) {
		return false
	}
	r.keep()
	return true
}

// keep keeps what is to be kept of the members for the first node of the way that knows as much of the conversation.
func (r *recall) keep() {
	if r.head == nil || r.match.State()[stateLasting] != int64(r.seen) {
		return
	}
	at := r.match
	for up := at; up.Back() && up.State()[stateLasting] == int64(r.seen); {
		at = up
	}
	r.head.seen = r.seen
	at.Keep(r.head)
	r.head = nil
}

// keptHead is what is kept of the members beside a conversation.
type keptHead struct {
	model    *Model
	request  *translate.Head
	cacheKey []byte
	// seen is how many elements of the conversation it knows that count for what comes after them.
	seen int
}

// maxKeptHead is how large the members and those elements are at most of which something is kept, in bytes. It takes
// some times as much.
const maxKeptHead = 64 << 10

// noteHead notes what is to be kept of the members beside the conversation, before anything is done with the request.
func (r *recall) noteHead(a *modelRequest, t *translate.Request) {
	if r == nil || r.kept != nil {
		return
	}
	size := r.beside
	for _, span := range r.read {
		size += span.To - span.From
	}
	lasting, _ := t.Lasting()
	for _, l := range lasting {
		size += l.To - l.From
	}
	if size > maxKeptHead {
		return
	}
	if head := t.Head(); head != nil {
		r.head = &keptHead{model: a.model, request: head, cacheKey: r.cacheKey}
	}
}

// earlier returns the earlier one of two times, of which 0 is none.
func earlier(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
