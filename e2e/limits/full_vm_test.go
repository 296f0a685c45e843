//go:build e2e

package limits

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy/inprocess"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// fullHost is a host whose one VM is always over its limit, and which may lose it.
type fullHost struct {
	url  string
	stop func()
	// metric is one of the filter's, log what the host has said so far.
	metric func(name string) uint64
	log    func() string
}

func fullEnvoy(t *testing.T, r *xds.Resources, c *config.Config) *fullHost {
	h, err := hosts.EnvoyWith(hosts.Setup{Config: c}, r)
	if err != nil {
		t.Fatal(err)
	}
	return &fullHost{
		url: h.URL, stop: h.Stop, log: func() string { return h.Process.Log(1 << 10) },
		metric: func(name string) uint64 { return lab.Counter(t, h, name) },
	}
}

func fullWazero(t *testing.T, r *xds.Resources, c *config.Config) *fullHost {
	var mu sync.Mutex
	var log strings.Builder
	h, err := hosts.WazeroWith(r, inprocess.Options{
		Workers: c.Envoy.Concurrency,
		Log: func(level wasmhost.Level, text string) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintf(&log, "[%s] %s\n", level, text)
		},
		Violation: func(what string) { t.Errorf("Envoy would not survive this: %s", what) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return &fullHost{
		url: h.URL, stop: h.Stop,
		log: func() string {
			mu.Lock()
			defer mu.Unlock()
			return log.String()
		},
		metric: func(name string) uint64 { return h.Server.Proxy().Metrics()[name] },
	}
}

// TestFullVM: a VM that is over its limit lives while it has a stream, whether that is ours or not. A WebSocket connection
// does not count. Once it has no stream it ends itself, says so in one line and counts it, and the next request finds a new
// one.
func TestFullVM(t *testing.T) {
	for name, start := range map[string]func(*testing.T, *xds.Resources, *config.Config) *fullHost{
		"envoy": fullEnvoy, "wazero": fullWazero} {
		t.Run(name, func(t *testing.T) {
			_, other := lab.RunSim(t, sim.Options{Models: []string{"other"}, HoldAfter: 1, AnyPrompt: true})
			_, url := lab.RunSim(t, sim.Options{})
			c := lab.OneModel(url)
			c.MemoryLimit = spokenLimit
			c.Passthrough = other
			service, connected := webSocketServer(t)
			c.ResponsesService = config.ResponsesService{URL: service, WebSocket: new(true)}
			r, err := hosts.Resources(hosts.Setup{Config: c})
			if err != nil {
				t.Fatal(err)
			}
			memoryOf("1")(t, r)
			h := start(t, r, c)
			defer h.stop()
			ws, _, err := websocket.Dial(t.Context(), h.url+lab.ResponsesPath, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = ws.CloseNow() }()
			<-connected
			fullVM(t, h)
		})
	}
}

// webSocketServer runs a server that lets clients connect by WebSocket, and reads what they send until they leave.
func webSocketServer(t *testing.T) (url string, connected chan struct{}) {
	t.Helper()
	connected = make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		connected <- struct{}{}
		<-ws.CloseRead(context.Background()).Done()
	}))
	t.Cleanup(s.Close)
	return s.URL, connected
}

func fullVM(t *testing.T, h *fullHost) {
	client := lab.HTTP1(t)
	full := func() {
		t.Helper()
		a := lab.Do(client, http.MethodPost, h.url+lab.ChatPath, nil, strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
		lab.WantRefused(t, a, http.StatusTooManyRequests, "gateway_overloaded")
		for _, path := range []string{contract.MessagesPath, contract.CountTokensPath} {
			a := lab.Do(client, http.MethodPost, h.url+path, nil, strings.NewReader(`{"max_tokens":9,`+
				lab.ChatBody(lab.Model, "Hi")[1:]))
			if a.Status != http.StatusTooManyRequests || a.Header.Get("retry-after") == "" ||
				!strings.HasPrefix(a.Body, `{"type":"error","error":{"type":"rate_limit_error",`) {
				t.Errorf("%s: %d %v %s", path, a.Status, a.Header, a.Body)
			}
		}
	}
	// A stream of another model passes by, and waits for its server.
	passing, err := client.Post(h.url+"/v1/completions", "application/json",
		strings.NewReader(`{"model":"other","stream":true,"prompt":"Hi","max_tokens":9}`))
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(passing.Body).ReadString('\n'); err != nil || passing.StatusCode != http.StatusOK {
		t.Fatalf("%d %q %v", passing.StatusCode, line, err)
	}
	full()
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if n := h.metric("harmony_vm_ended_full_total"); n != 0 {
			t.Fatal("the VM has ended itself under a stream")
		}
	}
	passing.Body.Close()
	for end := time.Now().Add(lab.Patience); h.metric("harmony_vm_ended_full_total") == 0; time.Sleep(
		10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the VM is full and idle, and has not ended itself")
		}
	}
	began := time.Now()
	full()
	t.Logf("the next request had its answer from a new VM after %s", time.Since(began).Round(time.Millisecond))
	if n := strings.Count(h.log(), "the VM ends itself"); n == 0 || uint64(n) > h.metric("harmony_vm_ended_full_total") {
		t.Errorf("the log has it %d times:\n%s", n, h.log())
	}
	_, _ = io.Copy(io.Discard, passing.Body)
}
