package page

import (
	"context"
	"net/http"
	"time"
)

// stream is a stream of events to one browser.
type stream struct {
	writer  http.ResponseWriter
	control *http.ResponseController
}

func newStream(w http.ResponseWriter) *stream {
	w.Header().Set("content-type", "text/event-stream")
	w.Header().Set("cache-control", "no-store")
	w.Header().Set("x-accel-buffering", "no") // for an nginx before the page
	return &stream{writer: w, control: http.NewResponseController(w)}
}

// send writes events. It returns an error if the browser has gone, or reads too slowly.
func (s *stream) send(events [][]byte) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	for _, e := range events {
		if _, err := s.writer.Write(e); err != nil {
			return err
		}
	}
	return s.control.Flush()
}

// next waits for a value, and keeps the stream alive meanwhile. It reports false when ctx has ended, the browser has
// gone, or no value is to come.
func next[T any](ctx context.Context, s *stream, from <-chan T) (value T, ok bool) {
	for {
		select {
		case <-ctx.Done():
			return value, false
		case value, ok = <-from:
			return value, ok
		case <-time.After(heartbeat):
			if s.send([][]byte{[]byte(":\n\n")}) != nil {
				return value, false
			}
		}
	}
}
