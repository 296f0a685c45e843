package toolserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// isMessage reports whether data may be a message of JSON-RPC, of which the SDK decodes no more than it needs: an id
// that is an array or an object would take eighty times its size.
func isMessage(data []byte) bool {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return false
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return false
		}
		text, _ := name.(string)
		if strings.EqualFold(text, "id") && (value[0] == '[' || value[0] == '{') {
			return false
		}
	}
	if _, err := d.Token(); err != nil { // the end of the object
		return false
	}
	_, err := d.Token()
	return errors.Is(err, io.EOF)
}

// framing is how a stream separates messages.
type framing int

const (
	// byLine is the framing of processes: a message is a line.
	byLine framing = iota
	// byEvent is the framing of an answer that is a stream of events. Events with another name than message are not
	// messages.
	byEvent
	// afterEndpoint is the framing of the older transport: the first event is an address, and all others are messages.
	afterEndpoint
)

// checked reads messages from a stream, and hands on only whole ones that are messages of JSON-RPC. The reader below it
// limits their size.
type checked struct {
	io.Closer
	lines   *bufio.Reader
	framing framing
	// bad writes down that a message is not one.
	bad func(error) error

	raw  bytes.Buffer // what is handed on
	data bytes.Buffer // the message in it
	name string       // the event's
	// begun reports whether the address has come.
	begun bool
	err   error
}

func newChecked(r io.ReadCloser, f framing, bad func(error) error) *checked {
	return &checked{Closer: r, lines: bufio.NewReader(r), framing: f, bad: bad}
}

// Read implements [io.Reader].
func (c *checked) Read(p []byte) (int, error) {
	for c.raw.Len() == 0 {
		if c.err != nil {
			return 0, c.err
		}
		c.next()
	}
	return c.raw.Read(p)
}

// next reads a message, or what stands between messages.
func (c *checked) next() {
	if c.raw.Cap() > maxKept { // one large message must not hold memory for ever
		c.raw, c.data = bytes.Buffer{}, bytes.Buffer{}
	}
	c.raw.Reset()
	c.data.Reset()
	c.name = ""
	for c.err == nil && !c.line() {
	}
	switch {
	case len(bytes.TrimSpace(c.data.Bytes())) == 0, c.framing == byEvent && c.name != "" && c.name != "message":
	case c.framing == afterEndpoint && !c.begun:
		c.begun = true
	case !isMessage(c.data.Bytes()) && (c.err == nil || errors.Is(c.err, io.EOF)):
		c.raw.Reset()
		c.err = c.bad(&ProtocolError{Message: notMessage})
	}
}

// line reads a line, and reports whether a message may end with it.
func (c *checked) line() bool {
	start := c.raw.Len()
	for {
		part, err := c.lines.ReadSlice('\n')
		c.raw.Write(part)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		c.err = err
		break
	}
	line := bytes.TrimRight(c.raw.Bytes()[start:], "\r\n")
	if c.framing == byLine {
		c.data.Write(line)
		return true
	}
	if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		c.data.Write(bytes.TrimSpace(value))
		c.data.WriteByte('\n')
	} else if value, ok := bytes.CutPrefix(line, []byte("event:")); ok {
		c.name = string(bytes.TrimSpace(value))
	}
	return len(line) == 0
}

const notMessage = "the server sent something that is not a JSON-RPC message"
