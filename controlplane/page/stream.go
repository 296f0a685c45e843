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

// wait waits for wake, and keeps the connection alive meanwhile. It reports false when ctx has ended or the browser has
// gone.
func (s *stream) wait(ctx context.Context, wake <-chan struct{}) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-wake:
			return true
		case <-time.After(heartbeat):
			if s.send([][]byte{[]byte(":\n\n")}) != nil {
				return false
			}
		}
	}
}
