package page

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/internal/tap"
	"github.com/harmonyedge/harmonyedge/sight/record"
)

// unread is a response whose reader takes in pieces of a size, and then nothing more.
type unread struct {
	httptest.ResponseRecorder
	deadlines, taken int
}

func (u *unread) SetWriteDeadline(at time.Time) error {
	if at.After(time.Now()) {
		u.deadlines++
	}
	return nil
}

func (u *unread) Write(p []byte) (int, error) {
	if u.taken++; u.taken > 2 {
		return 0, http.ErrHandlerTimeout
	}
	return len(p), nil
}

// TestUnread: each piece of a large answer has a time, and what is not read is given up.
func TestUnread(t *testing.T) {
	recorder, err := record.New(record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer recorder.Close()
	send(t, recorder.Handler(tapKey), tap.Frame{Kind: tap.Request, Payload: []byte(`{"request_id":"id-1"}`)},
		tap.Frame{Kind: tap.Body, Payload: bytes.Repeat([]byte("x"), 4*pieceSize)},
		tap.Frame{Kind: tap.End, Payload: []byte(`{}`)})
	s := source()
	s.Records = recorder
	s.Status = func() any { return string(make([]byte, 4*pieceSize)) }
	for _, path := range []string{"/api/status", "/api/records/id-1"} {
		w := &unread{}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Host = "localhost"
		Handler(s).ServeHTTP(w, r)
		if w.taken != 3 || w.deadlines != 3 {
			t.Errorf("%s: %d pieces with %d times", path, w.taken, w.deadlines)
		}
	}
}
