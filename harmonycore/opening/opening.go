package opening

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/backend"
)

// Verdict is what the beginning of an answer says.
type Verdict uint8

// The values of [Verdict].
const (
	// Undecided means that neither a token nor the end has come.
	Undecided Verdict = iota
	// Begun means that the answer is for the client: it has a token, or an error that tells the client something.
	Begun
	// Aborted means that the server has ended the answer before its first token, as one does that shuts down.
	Aborted
	// Empty means that the answer has ended without a token, or without anything.
	Empty
	// Unreadable means that the answer is not from this kind of server, such as a page of HTML.
	Unreadable
)

// Failed reports whether another server may be asked.
func (v Verdict) Failed() bool { return v > Begun }

// String returns the name of a failure for logs and metrics.
func (v Verdict) String() string {
	switch v {
	case Aborted:
		return "aborted"
	case Empty:
		return "empty"
	case Unreadable:
		return "unreadable"
	}
	return ""
}

// limit is how much is read of a beginning, in bytes. A longer beginning counts as begun. The first event of a server
// that answers in tokens may have the ids of the prompt, of which idLimit bytes are enough for the default context.
const (
	limit   = 64 << 10
	idLimit = 1 << 20
)

// maxIdle is how many events of one choice may say nothing in the answer of a chat server: one with filters' results,
// and one with a role. A server that sends another is at work, or says something that is not read.
const maxIdle = 2

// Reader reads the beginning of one answer.
type Reader struct {
	kind   backend.Kind
	reader backend.Reader
	event  backend.Event
	size   int
	// ended reports whether a choice has a reason for its end, and whole whether the answer is one JSON object.
	ended, whole bool
	// inLine reports whether the last byte did not end a line.
	inLine bool
	// idle counts the events of the first choice that say nothing.
	idle    int
	verdict Verdict
}

// New returns a reader of a successful answer of a server. kind is the kind's name in package contract. New returns nil
// for a kind that is not known: its answers count as begun.
func New(kind, contentType string) *Reader {
	k, ok := backend.Named(kind)
	if !ok {
		return nil
	}
	r := &Reader{kind: k}
	if k.Facts().Conversations && isJSON(contentType) {
		r.reader, r.whole = backend.NewWholeReader(), true
	} else {
		r.reader = k.NewReader()
	}
	return r
}

// isJSON reports whether a media type is JSON's.
func isJSON(contentType string) bool {
	const json = "application/json"
	return len(contentType) >= len(json) && strings.EqualFold(contentType[:len(json)], json)
}

// Write takes the next piece of the answer, and returns what is known after it. end reports whether it is the last one.
// Write may change the piece's memory. After a decision nothing is read any more.
func (r *Reader) Write(piece []byte, end bool) Verdict {
	if r.verdict != Undecided {
		return r.verdict
	}
	if r.size += len(piece); r.size > r.limit() || r.keepsAlive(piece) {
		return r.decide(Begun)
	}
	r.reader.Write(piece)
	for {
		switch r.reader.Next(&r.event) {
		case backend.Read:
			if v := r.judge(&r.event); v != Undecided {
				return r.decide(v)
			}
		case backend.Drained:
			if end {
				return r.decide(r.atEnd())
			}
			return Undecided
		default:
			return r.decide(r.unreadable())
		}
	}
}

func (r *Reader) limit() int {
	if r.kind.Facts().TextAnswers {
		return limit
	}
	return idLimit
}

// keepsAlive reports whether a piece has a comment. A server sends it to say that it is at work, and whoever waits must
// get it: what is held looks like silence.
func (r *Reader) keepsAlive(piece []byte) bool {
	if r.whole {
		return false
	}
	for _, c := range piece {
		if c == ':' && !r.inLine {
			return true
		}
		r.inLine = c != '\n' && c != '\r'
	}
	return false
}

// unreadable decides about an event that cannot be read. An answer of a chat server may go to the client as it is.
func (r *Reader) unreadable() Verdict {
	if r.kind.Facts().Conversations {
		return Begun
	}
	return Unreadable
}

// decide keeps a decision, and drops what is no longer needed.
func (r *Reader) decide(v Verdict) Verdict {
	*r = Reader{verdict: v}
	return v
}

// judge decides by one event. A server's error is for the client: the request may be its cause.
func (r *Reader) judge(e *backend.Event) Verdict {
	facts := r.kind.Facts()
	generated := len(e.Tokens) > 0 || len(e.Text) > 0 || len(e.Reasoning) > 0 || len(e.Calls) > 0
	switch {
	case e.Error != nil, generated, len(e.TextLogprobs) > 0:
		return Begun
	case e.Finish == backend.Aborted && (e.Failed || !facts.Conversations):
		return Aborted
	case e.Finish == backend.Filtered, r.whole: // a whole answer without a choice may be that to a prompt that is refused
		return Begun
	case e.Finish != backend.Running:
		r.ended = true
	}
	if e.Done || e.Last {
		return r.atEnd()
	}
	if facts.Conversations && e.Index == 0 && e.Finish == backend.Running {
		if r.idle++; r.idle > maxIdle {
			return Begun
		}
	}
	return Undecided
}

// atEnd decides at the end of an answer without a token. A model that answers in text may have nothing to say, and a
// stop sequence of the client's may be all that it says.
func (r *Reader) atEnd() Verdict {
	if r.ended && r.kind.Facts().TextAnswers {
		return Begun
	}
	return Empty
}
