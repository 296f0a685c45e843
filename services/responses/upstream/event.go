package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// Event is one event of a response's stream.
type Event struct {
	Kind string
	Data []byte
}

// Frame returns the event as a stream has it.
func (e *Event) Frame() []byte {
	b := make([]byte, 0, len(e.Kind)+len(e.Data)+16)
	b = append(append(append(b, "event: "...), e.Kind...), "\ndata: "...)
	return append(append(b, e.Data...), "\n\n"...)
}

// The limits of what is read of the gateway.
const (
	maxEventSize = 64 << 20
	maxErrorSize = 1 << 20
)

// ErrTooLarge means that the gateway has sent an event larger than maxEventSize.
var ErrTooLarge = errors.New("the gateway sent an event that is too large")

// KindMark is the kind of an event that stands for a comment of the gateway's about the events before it. A client's
// event cannot have it.
const KindMark = ":"

// Reader reads the events of a stream.
type Reader struct {
	lines *bufio.Reader
	// marks reports whether comments of the gateway's are events.
	marks bool
}

// NewReader returns a reader of the events of an answer.
func NewReader(body io.Reader) *Reader {
	return &Reader{lines: bufio.NewReaderSize(body, 32<<10)}
}

// WithMarks makes the reader give comments of the gateway's as events of the kind [KindMark]: the line is their data.
func (r *Reader) WithMarks() *Reader {
	r.marks = true
	return r
}

// Next returns the next event. Its data is the caller's. The error is [io.EOF] at the end of the stream.
func (r *Reader) Next() (Event, error) {
	var e Event
	for {
		line, err := r.line()
		if err != nil {
			return e, err
		}
		switch {
		case r.marks && len(line) > 0 && line[0] == ':':
			return Event{Kind: KindMark, Data: line}, nil
		case len(line) == 0 && len(e.Data) > 0:
			return e, nil
		case bytes.HasPrefix(line, []byte("event: ")):
			e.Kind = string(line[len("event: "):])
		case bytes.HasPrefix(line, []byte("data: ")):
			e.Data = line[len("data: "):]
		}
	}
}

// line returns the next line without its end, in memory of its own.
func (r *Reader) line() ([]byte, error) {
	var line []byte
	for {
		part, err := r.lines.ReadSlice('\n')
		if len(line)+len(part) > maxEventSize {
			return nil, ErrTooLarge
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return nil, err // what is left of a line has been cut off
		default:
			return bytes.TrimRight(line, "\r\n"), nil
		}
	}
}
