package page

import (
	"net/http"
	"time"
)

// impatient is a response whose reader must go on reading. An answer may take as long as it likes.
type impatient struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
}

func newImpatient(w http.ResponseWriter, timeout time.Duration) *impatient {
	return &impatient{w, http.NewResponseController(w), timeout}
}

// Write implements [io.Writer].
func (i *impatient) Write(p []byte) (int, error) {
	if err := i.control.SetWriteDeadline(time.Now().Add(i.timeout)); err != nil {
		return 0, err
	}
	return i.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (i *impatient) Unwrap() http.ResponseWriter { return i.ResponseWriter }

// pieceSize is how much a reader must take in within [writeTimeout], in bytes.
const pieceSize = 256 << 10

// writeAll writes the body of a response. A client that does not read it holds it no longer than [writeTimeout].
func writeAll(w http.ResponseWriter, body []byte) {
	out := newImpatient(w, writeTimeout)
	for len(body) > 0 {
		n, err := out.Write(body[:min(len(body), pieceSize)])
		if err != nil {
			return // the client has gone, or does not read
		}
		body = body[n:]
	}
}
