package wake

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

func callerOf() *Caller {
	c := New(slog.New(slog.DiscardHandler))
	c.pause = time.Millisecond
	return c
}

// TestCalls: a call that fails is made again, one that succeeds is not, and of calls at once one is made.
func TestCalls(t *testing.T) {
	var n atomic.Int32
	bodies, release := make(chan string, 10), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization") + " " + string(body)
		switch n.Add(1) {
		case 1:
			<-release
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusFound) // is not followed
		}
	}))
	defer s.Close()
	c := callerOf()
	call := Call{URL: s.URL + "/wake/p", Authorization: "Bearer t", Pool: "p", Requests: 3, Tokens: 4000}
	c.Go(t.Context(), call)
	first := <-bodies
	c.Go(t.Context(), call) // one is under way
	close(release)
	c.Wait()
	if n.Load() != 3 {
		t.Errorf("%d calls were made", n.Load())
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(first[len("POST /wake/p Bearer t "):]), &got); err != nil || got["pool"] != "p" ||
		got["requests"] != 3.0 || got["tokens"] != 4000.0 {
		t.Errorf("asked was %s", first)
	}
}

// TestBounds: a URL that always fails is asked some times, and one whose picker ends is not asked any more.
func TestBounds(t *testing.T) {
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
		for range 100 { // an answer without an end is not read
			if _, err := w.Write(make([]byte, maxResponse)); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	c := callerOf()
	c.Go(t.Context(), Call{URL: s.URL, Pool: "p"})
	c.Wait()
	if n.Load() != attempts {
		t.Errorf("%d calls were made", n.Load())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Go(ctx, Call{URL: s.URL, Pool: "p"})
	c.pause = time.Hour
	ctx, cancel = context.WithCancel(t.Context())
	c.Go(ctx, Call{URL: s.URL, Pool: "p"})
	cancel()
	c.Wait()
	if n.Load() > attempts+1 {
		t.Errorf("%d calls were made", n.Load())
	}
}
