package pools

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// manyServers is many servers on one port, each at its own address in 127.0.0.0/8.
type manyServers struct {
	addresses  []netip.AddrPort
	running    atomic.Int64 // probes that are being answered
	maxRunning atomic.Int64 // the highest value of running
	noModels   atomic.Bool  // the servers list no models
	mu         sync.Mutex
	requests   map[string]int // by address
}

func newManyServers(t *testing.T, n int) *manyServers {
	t.Helper()
	h := &manyServers{requests: map[string]int{}}
	h.addresses = listenMany(t, n, h)
	return h
}

// listenMany serves h at many addresses with one port.
func listenMany(t *testing.T, n int, h http.Handler) (all []netip.AddrPort) {
	t.Helper()
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	t.Cleanup(func() { server.Close() })
	port := 0
	for i := range n {
		l, err := net.Listen("tcp", fmt.Sprintf("127.1.%d.%d:%d", i/250, i%250+1, port))
		must(t, err)
		address := netip.MustParseAddrPort(l.Addr().String())
		port = int(address.Port())
		all = append(all, address)
		go func() { _ = server.Serve(l) }()
	}
	return all
}

func (h *manyServers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := h.running.Add(1)
	defer h.running.Add(-1)
	for highest := h.maxRunning.Load(); now > highest &&
		!h.maxRunning.CompareAndSwap(highest, now); highest = h.maxRunning.Load() {
	}
	h.mu.Lock()
	h.requests[r.Host]++
	h.mu.Unlock()
	if h.noModels.Load() {
		listsModels()(w, r)
	} else {
		listsModels("m")(w, r)
	}
}

// TestManyServers checks that ten times as many servers as are asked at once are asked a few at a time, and that their
// answers are known after one interval and the time that the probes take.
func TestManyServers(t *testing.T) {
	const n = 10 * maxProbes
	h := newManyServers(t, n)
	var pool Pool
	pool.Models = []string{"m"}
	for _, a := range h.addresses {
		pool.Servers = append(pool.Servers, config.Endpoint{Host: a.Addr().String(), Port: a.Port()})
	}
	before := runtime.NumGoroutine()
	w := New(Options{ReadyInterval: time.Second})
	defer w.Close()
	must(t, w.Set([]Pool{pool}))
	start, maxGoroutines := time.Now(), 0
	all := func(state State) func() bool {
		return func() bool {
			maxGoroutines = max(maxGoroutines, runtime.NumGoroutine()-before)
			for _, s := range w.Servers()[""].Servers {
				if s.State != state {
					return false
				}
			}
			return true
		}
	}
	eventually(t, "ready servers", all(Ready))
	t.Logf("all are ready after %v", time.Since(start))
	h.noModels.Store(true)
	start = time.Now()
	eventually(t, "servers that are not ready", all(NotReady))
	t.Logf("and none %v after they unloaded the model", time.Since(start))
	if got := h.maxRunning.Load(); got > maxProbes {
		t.Errorf("%d probes at once, want at most %d", got, maxProbes)
	}
	// A probe has a few goroutines here, and one in the server.
	if maxGoroutines > 8*maxProbes {
		t.Errorf("%d goroutines more than before", maxGoroutines)
	}
	t.Logf("at most %d probes at once and %d goroutines", h.maxRunning.Load(), maxGoroutines)
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.requests) != n {
		t.Errorf("%d servers were asked", len(h.requests))
	}
}

// BenchmarkSet measures the change of one server among 2,000 in 200 pools, and among 10,000 in one pool.
func BenchmarkSet(b *testing.B) {
	for _, size := range []struct{ pools, servers int }{{200, 10}, {1, 10_000}} {
		b.Run(fmt.Sprintf("%dx%d", size.pools, size.servers), func(b *testing.B) {
			var pools []Pool
			for i := range size.pools {
				p := Pool{Name: fmt.Sprint("p", i)}
				for k := range size.servers {
					p.Servers = append(p.Servers, config.Endpoint{Host: fmt.Sprintf("10.%d.%d.%d", i, k/200, k%200), Port: 8000})
				}
				pools = append(pools, p)
			}
			w := New(Options{})
			defer w.Close()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				pools[0].Servers[0].Port = uint16(8000 + i%2)
				if err := w.Set(pools); err != nil {
					b.Fatal(err)
				}
				w.Servers()
			}
		})
	}
}
