package exchange

import "github.com/harmonyedge/harmonyedge/harmonycore/backend"

// copyReader reads a copy of an answer that the client gets as it is: the reader overwrites what it reads.
type copyReader struct {
	// reader is nil if the answer has a form that is not read, and from where it cannot be read any further.
	reader backend.Reader
	event  backend.Event
	copied []byte
}

// maxKeptCopy is the largest copy whose memory is kept for the next one, in bytes.
const maxKeptCopy = 64 << 10

// write takes a chunk of the answer. All its events must be read before the next one.
func (c *copyReader) write(chunk []byte) {
	c.copied = append(c.copied[:0], chunk...)
	c.reader.Write(c.copied)
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
