//go:build e2e

package rules

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	wasmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/wasm/v3"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

const (
	// reloadInterval is long enough for a request to come within it, even on a busy machine.
	reloadInterval = 3 * time.Second
	// reloadLimit is longer than the interval with all of its jitter.
	reloadLimit = 20 * time.Second
)

// TestPanicOnThirdRequest runs a filter that panics on the third request of its VM's life (e2e/panicfilter) on Envoy
// and under wazero: what the clients see must be the same, and how the host gets over it.
func TestPanicOnThirdRequest(t *testing.T) {
	module := lab.Tool(t, "HARMONY_PANIC_WASM")
	const want = `first: 200, request 1 of the VM, "hello", whole
stream: 200, request 2 of the VM, "hello"
third: 503, "", whole
stream: "", cut
at once: 503, "", whole
when the VM is back: 200, request 1 of the VM, "hello", whole
and on: 200, request 2 of the VM, "hello", whole
third again: 503, "", whole
`
	for _, host := range ruleHosts {
		t.Run(host.name, func(t *testing.T) {
			p := newPanicking(t, module)
			r, err := p.setup.Resources()
			if err != nil {
				t.Fatal(err)
			}
			h, err := host.start(r, func(string) {})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(h.stop)
			if got := p.story("http://" + h.address); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// panicking is what stands around the filter.
type panicking struct {
	t      *testing.T
	client *http.Client
	setup  hosts.ProbeSetup
	goOn   chan struct{}
}

// newPanicking starts a server that says hello; on /to/stream it says more later, and does not end.
func newPanicking(t *testing.T, module string) *panicking {
	p := &panicking{t: t, client: lab.HTTP1(t), goOn: make(chan struct{})}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello")
		if r.URL.Path != "/to/stream" {
			return
		}
		_ = http.NewResponseController(w).Flush()
		<-p.goOn
		_, _ = io.WriteString(w, "more")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done() // until the gateway gives it up
	}))
	t.Cleanup(server.Close)
	p.setup = hosts.ProbeSetup{
		Module: module, Failure: wasmv3.FailurePolicy_FAIL_RELOAD, ReloadInterval: reloadInterval,
		Server: server.Listener.Addr().(*net.TCPAddr).Port,
	}
	return p
}

// story is what happens, in the clients' words.
func (p *panicking) story(url string) string {
	var b strings.Builder
	tell := func(when string, r *http.Response) {
		fmt.Fprintf(&b, "%s: %s, %s\n", when, head(r), rest(r))
	}
	tell("first", p.get(url))
	stream := p.get(url + "/to/stream")
	hello := make([]byte, len("hello"))
	if _, err := io.ReadFull(stream.Body, hello); err != nil {
		p.t.Error(err)
	}
	fmt.Fprintf(&b, "stream: %s, %q\n", head(stream), hello)
	tell("third", p.get(url))
	close(p.goOn)
	fmt.Fprintf(&b, "stream: %s\n", rest(stream))
	tell("at once", p.get(url))
	limit := time.Now().Add(reloadLimit)
	again := p.get(url)
	for again.StatusCode == http.StatusServiceUnavailable && time.Now().Before(limit) {
		again.Body.Close()
		again = p.get(url)
	}
	tell("when the VM is back", again)
	tell("and on", p.get(url))
	tell("third again", p.get(url))
	return b.String()
}

func (p *panicking) get(url string) *http.Response {
	r, err := p.client.Get(url)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func head(r *http.Response) string {
	if count := r.Header.Get("x-count"); count != "" {
		return fmt.Sprintf("%d, request %s of the VM", r.StatusCode, count)
	}
	return fmt.Sprint(r.StatusCode)
}

// rest is what is left of a body, and how it ends.
func rest(r *http.Response) string {
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Sprintf("%q, cut", body)
	}
	return fmt.Sprintf("%q, whole", body)
}
