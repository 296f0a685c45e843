package proxy

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
)

// TestConfigure checks that streams which begin after a change of the configuration have the new one, that one which
// began before goes on to its end, and that its worker ends with it.
func TestConfigure(t *testing.T) {
	wasm, err := os.ReadFile("../testdata/greeter.wasm") // it adds its configuration to responses as x-greeting
	if err != nil {
		t.Fatal(err)
	}
	begun, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			_, _ = io.WriteString(w, "first")
			w.(http.Flusher).Flush()
			close(begun)
			<-release
		}
		_, _ = io.WriteString(w, "last")
	}))
	defer server.Close()
	p, err := New(wasm, Options{
		Plugin: wasmhost.Plugin{Name: "greeter", Configuration: []byte("one")}, Workers: 2, BufferLimit: 1 << 20,
		Route:    func(*wasmhost.Headers) *wasmhost.Route { return &wasmhost.Route{Cluster: "server"} },
		Clusters: []Cluster{{Name: "server", Endpoints: []Endpoint{{Address: strings.TrimPrefix(server.URL, "http://")}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(p)
	defer p.Close()
	defer front.Close()
	get := func(path string) *http.Response {
		t.Helper()
		response, err := http.Get(front.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	held := get("/held")
	<-begun
	if err := p.Configure([]byte("two")); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		fresh := get("/")
		text, err := io.ReadAll(fresh.Body)
		if got := fresh.Header.Get("x-greeting"); err != nil || got != "two" || string(text) != "last" {
			t.Errorf("a new stream has %q and %q (%v)", got, text, err)
		}
	}
	for end := time.Now().Add(10 * time.Second); p.Streams() != 1; time.Sleep(time.Millisecond) { // a client's end is earlier
		if time.Now().After(end) {
			t.Fatalf("%d streams", p.Streams())
		}
	}
	if n := len(p.all()); n != 3 || len(p.Stats()) != 2 {
		t.Errorf("%d workers", n)
	}
	close(release)
	text, err := io.ReadAll(held.Body)
	if got := held.Header.Get("x-greeting"); err != nil || got != "one" || string(text) != "firstlast" {
		t.Errorf("the stream of before has %q and %q (%v)", got, text, err)
	}
	for end := time.Now().Add(10 * time.Second); len(p.all()) != 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the worker of before does not end")
		}
	}
}
