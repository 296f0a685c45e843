package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// failingServer answers as its name says, in most cases with 200.
func failingServer(t *testing.T, name string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // so that the server sees the client leave
		if name == "silent" {
			<-r.Context().Done()
			return
		}
		if name == "no content" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		switch name {
		case "breaks off":
			panic(http.ErrAbortHandler)
		case "well":
			_, _ = io.WriteString(w, "well")
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestFailedAttempts: each attempt that fails while its answer is held is told of with its server, and no other: not
// one whose connection is refused, whose client leaves, or whose answer is not held. Then another server is asked.
func TestFailedAttempts(t *testing.T) {
	refusing := failingServer(t, "well")
	refusing.Close()
	for _, tt := range []struct {
		name string
		bad  *httptest.Server
		told string // how, and whether silent
	}{
		{"empty", failingServer(t, "empty"), "nothing came false"},
		{"no content", failingServer(t, "no content"), "nothing came false"},
		{"breaks off", failingServer(t, "breaks off"), " false"},
		{"silent", failingServer(t, "silent"), " true"},
		{"refuses the connection", refusing, ""},
		{"well", failingServer(t, "well"), ""},
	} {
		first := strings.TrimPrefix(tt.bad.URL, "http://")
		well := strings.TrimPrefix(failingServer(t, "well").URL, "http://")
		c := newCluster(Cluster{Endpoints: []Endpoint{{Address: first}, {Address: well}}}, time.Minute, 3)
		var told []string
		hold := &Hold{MaxLost: 2, Begin: func(held, _ string) Opening {
			return func(piece []byte, end bool) (bool, string) {
				if len(piece) == 0 && end {
					return true, "nothing came"
				}
				return end, ""
			}
		}, Failed: func(held, address, how string, silent bool) {
			told = append(told, fmt.Sprintf("%s %s %s %v", held, address, how, silent))
		}}
		send := func(ctx context.Context, hold *Hold) (string, error) {
			a := attempts{cluster: c, hold: hold, held: "held", idle: 100 * time.Millisecond,
				make: func(e *endpoint) *http.Request {
					r, err := http.NewRequest(http.MethodPost, "http://"+e.Address, http.NoBody)
					if err != nil {
						t.Fatal(err)
					}
					return r
				}}
			response, release, err := a.send(ctx)
			if err != nil {
				return "", err
			}
			defer release()
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			return string(body), err
		}
		if body, err := send(t.Context(), hold); body != "well" || err != nil {
			t.Errorf("%s: got %q, %v", tt.name, body, err)
		}
		var want []string
		if tt.told != "" {
			want = []string{"held " + first + " " + tt.told}
		}
		if !slices.Equal(told, want) {
			t.Errorf("%s: told %q, want %q", tt.name, told, want)
		}
		told = nil
		if tt.name == "silent" {
			ctx, leave := context.WithTimeout(t.Context(), 20*time.Millisecond)
			if _, err := send(ctx, hold); !errors.Is(err, context.DeadlineExceeded) || len(told) != 0 {
				t.Errorf("the client leaves: told %q, %v", told, err)
			}
			leave()
		} else if _, _ = send(t.Context(), nil); len(told) != 0 {
			t.Errorf("%s, not held: told %q", tt.name, told)
		}
		c.close()
	}
}
