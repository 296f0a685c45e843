package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestFirstToken: a request is repeated until it is answered with a stream of events.
func TestFirstToken(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch asked++; asked {
		case 1:
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		case 2:
			_, _ = w.Write([]byte("{}"))
		default:
			_, _ = w.Write([]byte("data: {}\n\n"))
		}
	}))
	defer s.Close()
	if err := firstToken(t.Context(), s.URL, make(chan struct{})); err != nil || asked != 3 {
		t.Errorf("%v after %d requests", err, asked)
	}
}

// TestEnded: a program that ends is not waited for.
func TestEnded(t *testing.T) {
	ended := make(chan struct{})
	close(ended)
	if err := firstToken(t.Context(), "http://127.0.0.1:1", ended); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Error(err)
	}
}

// TestUsed reads this process. The name of a program may have spaces and brackets, and its parent is known all the same.
func TestUsed(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Fatal("no /proc, from which this benchmark reads processor times: ", err)
	}
	for n := 0; n < 1e9; n++ { // more than a tick
		if used, parent := used(strconv.Itoa(os.Getpid())); used > 0 && parent == os.Getppid() {
			return
		}
	}
	t.Error("no processor time")
}
