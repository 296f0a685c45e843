package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/internal/filterfile/stub"
)

// TestFilterAtURL checks that a filter is fetched once and kept, and that only the file with the checksum is.
func TestFilterAtURL(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	whole, asked := stub.Filter("1"), 0
	site := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch r.URL.Path {
		case "/filter.wasm":
			_, _ = w.Write(whole)
		case "/page":
			_, _ = w.Write([]byte("<html>"))
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	find := func(path, sum string) (FilterSource, error) {
		f := FilterFlags{wasm: site.URL + path, sha256: sum, client: site.Client()}
		return f.Find(t.Context())
	}
	for range 2 {
		found, err := find("/filter.wasm", strings.ToUpper(checksum(whole)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(found.file); err != nil || string(got) != string(whole) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		var o server.Options
		found.HandOut(&o)
		if string(o.Module) != string(whole) || o.ModuleFile != "" {
			t.Errorf("a file that another program may replace is handed out: %s", o.ModuleFile)
		}
	}
	if asked != 1 {
		t.Errorf("fetched %d times", asked)
	}
	for _, tt := range []struct{ path, sum, want string }{
		{"/filter.wasm", checksum([]byte("other")), "checksum mismatch"},
		{"/page", checksum([]byte("<html>")), "is not a WebAssembly module"},
		{"/none", checksum([]byte("none")), "404 Not Found"},
		{"/filter.wasm", "abc", "needs --wasm-sha256"},
	} {
		if _, err := find(tt.path, tt.sum); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.path, err, tt.want)
		}
	}
	site.Close()
	if _, err := find("/filter.wasm", checksum([]byte("gone"))); err == nil ||
		!strings.Contains(err.Error(), "cannot be fetched") {
		t.Errorf("got %v", err)
	}
}
