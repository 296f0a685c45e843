//go:build e2e

package soak

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// floodServer is an inference server that behaves as the request's seed selects. A request without a seed gets a short
// answer at once.
type floodServer struct {
	*httptest.Server
	// ended is closed to end the long answers.
	ended chan struct{}
}

func newFloodServer(t *testing.T) *floodServer {
	s := &floodServer{ended: make(chan struct{})}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements [http.Handler].
func (s *floodServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	seed := 0
	if at := bytes.LastIndex(body, []byte(`"seed":`)); at >= 0 {
		_, _ = fmt.Sscanf(string(body[at:]), `"seed":%d`, &seed) // a seed that is not a number belongs to another model
	}
	w.Header().Set("content-type", "text/event-stream; charset=utf-8")
	switch seed {
	case 10: // a long answer
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		_, _ = io.WriteString(w, opening)
		for {
			_, _ = io.WriteString(w, piece)
			w.(http.Flusher).Flush()
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			case <-s.ended:
				_, _ = io.WriteString(w, closing+answer)
				return
			}
		}
	case 11: // a slow answer
		_, _ = io.WriteString(w, opening)
		for range 20 {
			_, _ = io.WriteString(w, piece)
			w.(http.Flusher).Flush()
			select {
			case <-time.After(5 * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
		_, _ = io.WriteString(w, closing)
	case 12: // an answer that is cut
		_, _ = io.WriteString(w, opening)
		_, _ = io.WriteString(w, piece)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	case 13: // no answer
		panic(http.ErrAbortHandler)
	case 14: // an error
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"error":{"message":"out of memory","type":"InternalServerError","code":500}}`)
		return
	}
	_, _ = io.WriteString(w, answer)
}

// opening begins a message of reasoning, piece is a word of it, and closing ends it, so that an answer may follow.
var opening, piece, closing = event("200005,35644,200008"), event("12194"), event("200007,200006,173781")

func event(tokens string) string {
	return `data: {"id":"cmpl-1","object":"text_completion","created":1,"model":"gpt-oss-120b","choices":[{"index":0,` +
		`"text":"","token_ids":[` +
		tokens + `],"finish_reason":null}]}` + "\n\n"
}
