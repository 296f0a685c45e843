package exchange

import "github.com/harmonyedge/harmonyedge/harmonycore/backend"

// copyReader reads a copy of an answer that the client gets as it is: the reader overwrites what it reads.
type copyReader struct {
	// reader is nil if the answer has a form that is not read, and from where it cannot be read any further.
	reader backend.Reader
	event  backend.Event
	copied []byte
	// alike is the reader, if it reads events where they lie.
	alike backend.LikeReader
}

// maxKeptCopy is the largest copy whose memory is kept for the next one, in bytes.
const maxKeptCopy = 64 << 10

// write takes a chunk of the answer. All its events must be read before the next one.
func (c *copyReader) write(chunk []byte) {
	c.copied = append(c.copied[:0], chunk...)
	c.reader.Write(c.copied)
}

// like reads the event at the beginning of b if it is like the one before it, without a copy. It returns the event's
// size, or 0.
func (c *copyReader) like(b []byte) int {
	if c.alike == nil || len(b) == 0 {
		return 0
	}
	size, reading := c.alike.Like(b, &c.event)
	if size > 0 && reading != backend.Read {
		c.reader = nil
	}
	return size
}

// next reads the next event of the chunk. If there is none, more is false, and broken reports whether the answer cannot
// be read any further.
func (c *copyReader) next() (more, broken bool) {
	switch c.reader.Next(&c.event) {
	case backend.Read:
		return true, false
	case backend.Drained:
		if cap(c.copied) > maxKeptCopy {
			c.copied = nil
		}
		return false, false
	default:
		c.reader = nil
		return false, true
	}
}
