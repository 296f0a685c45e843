package fleet

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
)

// TestDrain drains an Envoy's admin interface of the test's own: which pages are asked in which order, and when it
// returns.
func TestDrain(t *testing.T) {
	for _, tt := range []struct {
		name    string
		streams int // that run when the listeners are closed; one ends with each page of statistics
		flags   []string
		code    int
		says    string
	}{
		{"streams end", 2, nil, 0, ""},
		{"streams go on", 1 << 20, []string{"--drain-time", "20ms"}, cli.ExitFailed, "streams still running after 20ms"},
	} {
		var mu sync.Mutex
		var asked []string
		left := tt.streams
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, r.Method+" "+r.URL.Path)
			if r.URL.Path == "/stats" {
				fmt.Fprintf(w, `{"stats":[{"name":"http.admin.downstream_rq_active","value":1},`+
					`{"name":"http.harmony.downstream_rq_active","value":%d}]}`, left)
				left = max(0, left-1)
			}
		}))
		args := append([]string{"drain", "--stay", "1ms", "--admin", strings.TrimPrefix(server.URL, "http://")}, tt.flags...)
		var out, failed bytes.Buffer
		code := run(t.Context(), args, &out, &failed)
		server.Close()
		if code != tt.code || !strings.Contains(failed.String(), tt.says) {
			t.Errorf("%s: status %d, %s", tt.name, code, &failed)
		}
		want := []string{"POST /healthcheck/fail", "POST /drain_listeners", "GET /stats"}
		if len(asked) < 3 || !slices.Equal(asked[:3], want) || tt.code == 0 && len(asked) != 2+tt.streams+1 {
			t.Errorf("%s: asked %q", tt.name, asked)
		}
	}
}
