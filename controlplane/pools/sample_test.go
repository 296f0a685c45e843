package pools

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/load"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// sampled watches one server for its load alone, and returns the watcher.
func sampled(t *testing.T, kind, url string, more func(*Pool)) *Watcher {
	t.Helper()
	p := Pool{Name: "p", Servers: endpoints(t, url), Kind: kind, LoadInterval: 10 * time.Millisecond}
	if more != nil {
		more(&p)
	}
	w := New(Options{})
	t.Cleanup(w.Close)
	must(t, w.Set([]Pool{p}))
	return w
}

// TestSample checks that the load of a server of each kind is known.
func TestSample(t *testing.T) {
	for _, kind := range []string{contract.VLLM, contract.SGLang, contract.LlamaCPP} {
		t.Run(kind, func(t *testing.T) {
			s := sim.New(sim.Options{Kind: kind})
			t.Cleanup(s.Close)
			s.SetLoad(&sim.Load{Running: 3, Waiting: 2, KVCacheUsage: 0.5})
			h := httptest.NewServer(s.Handler())
			t.Cleanup(h.Close)
			w := sampled(t, kind, h.URL, nil)
			eventually(t, "a load", func() bool { l := server(t, w).Load; return l.Running == 3 && l.Waiting == 2 })
			cache := 0.5
			if kind == contract.LlamaCPP {
				cache = -1 // it does not tell
			}
			if l := server(t, w).Load; l.Cache != cache || !l.Known(time.Now()) || l.Problem != "" {
				t.Errorf("got %+v", l)
			}
			s.SetLoad(&sim.Load{Running: 9})
			eventually(t, "the next load", func() bool { l := server(t, w).Load; return l.Last.Running == 9 && l.Running > 3 })
		})
	}
}

// TestSampleRude checks what is known of servers that do not tell their load as they should.
func TestSampleRude(t *testing.T) {
	page, tooLong := "vllm:num_requests_running 3.0\n", "answers more than 4 MiB to GET /metrics"
	for name, tt := range map[string]struct {
		kind   string
		answer http.HandlerFunc
		want   string // of the problem
	}{
		"404": {contract.VLLM, replies(404, page), "answers 404 to GET /metrics"},
		"a redirect": {contract.VLLM, http.RedirectHandler("/x", http.StatusFound).ServeHTTP,
			"answers 302 to GET /metrics"},
		"nothing of it": {contract.VLLM, replies(200, "a 1\n"), "does not tell its load at /metrics"},
		"an empty page": {contract.VLLM, replies(200, ""), "does not tell its load at /metrics"},
		"no HTTP":       {contract.VLLM, repliesRaw("hello\r\n\r\n"), "it answers, but not in HTTP"},
		"half of an answer": {contract.VLLM, repliesRaw("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n" + page),
			"it closes the connection without an answer"},
		"no end of lines":  {contract.VLLM, endless(page + strings.Repeat("b 1\n", 8<<10)), tooLong},
		"no end of a line": {contract.VLLM, endless(page + strings.Repeat("b", 32<<10)), tooLong},
		"silence": {contract.VLLM, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
			"no answer in time"},
		"a page that trickles": {contract.VLLM, trickle, "no answer in time"},
		"any kind":             {contract.Chat, replies(200, page), "its kind is not known to tell its load"},
		"Ollama":               {contract.Ollama, replies(200, page), "its kind is not known to tell its load"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(tt.answer)
			defer s.CloseClientConnections()
			w := sampled(t, tt.kind, s.URL, nil)
			eventually(t, tt.want, func() bool { return server(t, w).Load.Problem == tt.want })
			if l := server(t, w).Load; l.Known(time.Now()) || l.Running >= 0 {
				t.Errorf("got %+v", l)
			}
			eventually(t, "a longer interval", func() bool {
				w.mu.Lock()
				defer w.mu.Unlock()
				return w.sampler.interval(w.pools["p"].members[0]) > w.pools["p"].LoadInterval
			})
		})
	}
}

func endless(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
}

func trickle(w http.ResponseWriter, r *http.Request) {
	for r.Context().Err() == nil {
		_, _ = io.WriteString(w, "b 1\n")
		w.(http.Flusher).Flush()
		time.Sleep(10 * time.Millisecond)
	}
}

// TestSampleInterval checks that a server that does not answer is asked less and less often, a slow pool not more often
// for it, and that so many servers are asked less often that there are no more questions than the bound.
func TestSampleInterval(t *testing.T) {
	for _, tt := range []struct {
		interval   time.Duration
		unanswered int32
		servers    int
		want       time.Duration
	}{
		{2 * time.Second, 0, 1, 2 * time.Second}, {2 * time.Second, 1, 1, 4 * time.Second},
		{2 * time.Second, 3, 1, 16 * time.Second}, {2 * time.Second, 4, 1, 30 * time.Second},
		{2 * time.Second, 1 << 30, 1, 30 * time.Second}, {time.Minute, 0, 1, time.Minute}, {time.Minute, 5, 1, time.Minute},
		{2 * time.Second, 0, 4000, 2 * time.Second}, {2 * time.Second, 0, 10_000, 5 * time.Second},
		{2 * time.Second, 1, 10_000, 10 * time.Second}, {500 * time.Millisecond, 9, 1_000_000, 500 * time.Second},
	} {
		m, s := &member{probe: &probe{loadInterval: tt.interval}}, newSampler()
		m.unanswered.Store(tt.unanswered)
		s.setServers(slices.Repeat([]*member{m}, tt.servers))
		if got := s.interval(m); got != tt.want {
			t.Errorf("%v of %d servers after %d: got %v, want %v", tt.interval, tt.servers, tt.unanswered, got, tt.want)
		}
	}
}

// TestSampleTLS checks that a load is asked for over TLS, by the server's name, with the pool's authorization, and on
// one connection.
func TestSampleTLS(t *testing.T) {
	var hosts, tokens sync.Map
	var connections atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hosts.Store(r.Host, true)
		tokens.Store(r.Header.Get("Authorization"), true)
		_, _ = io.WriteString(w, "vllm:num_requests_running 3.0\n")
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	names := &zone{names: map[string][]string{"example.com": {"127.0.0.1"}}}
	port := uint16(s.Listener.Addr().(*net.TCPAddr).Port)
	w := New(Options{Lookup: names.lookup})
	t.Cleanup(w.Close)
	pool := Pool{Name: "p", Kind: contract.VLLM, LoadInterval: 5 * time.Millisecond, CAFile: ca, Authorization: "Bearer x",
		Servers: []config.Endpoint{{TLS: true, Host: "example.com", Port: port}}}
	must(t, w.Set([]Pool{pool}))
	eventually(t, "a load", func() bool { return len(w.Servers()["p"].Servers) == 1 && server(t, w).Load.Running == 3 })
	first := server(t, w).Load.Sampled
	eventually(t, "more samples", func() bool { return server(t, w).Load.Sampled.Sub(first) > 50*time.Millisecond })
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	if _, ok := hosts.Load("example.com"); !ok {
		t.Error("the server was asked by another name")
	}
	if _, ok := tokens.Load("Bearer x"); !ok {
		t.Error("there was no authorization")
	}
	pool.CAFile = ""
	must(t, w.Set([]Pool{pool}))
	w.sampler.transport.CloseIdleConnections()
	eventually(t, "a refused certificate", func() bool {
		return server(t, w).Load.Problem == "its certificate is signed by an unknown authority"
	})
}

// TestSampleKept checks that a server's load stays when something else of its pool changes, and is unknown when nobody
// wants it any more.
func TestSampleKept(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(replies(http.StatusOK, "vllm:num_requests_running 3.0\n")))
	t.Cleanup(s.Close)
	w := sampled(t, contract.VLLM, s.URL, nil)
	eventually(t, "a load", func() bool { return server(t, w).Load.Running == 3 })
	pool := Pool{Name: "p", Servers: endpoints(t, s.URL), Kind: contract.VLLM, LoadInterval: time.Hour,
		Models: []string{"m"}}
	must(t, w.Set([]Pool{pool}))
	if l := server(t, w).Load; l.Running != 3 {
		t.Errorf("after a change of the pool: %+v", l)
	}
	pool.LoadInterval = 0
	must(t, w.Set([]Pool{pool}))
	if l := server(t, w).Load; l != load.None() {
		t.Errorf("nobody asks: %+v", l)
	}
}

// TestManySamples checks that 2,000 servers are asked for their load every second, and says what that costs. With -short
// there are 300: the race detector makes an answer so slow that a busy machine forgets loads before it has all.
func TestManySamples(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 300
	}
	page := "# HELP\nvllm:num_requests_running{engine=\"0\"} 3.0\nvllm:num_requests_waiting{engine=\"0\"} 0.0\n"
	for len(page) < 20<<10 {
		page += "vllm:inter_token_latency_seconds_bucket{engine=\"0\",le=\"0.025\",model_name=\"m\"} 812.0\n"
	}
	s := &sampledServers{page: []byte(page), asked: map[string]int{}}
	addresses := listenMany(t, n, s)
	p := Pool{Kind: contract.VLLM, LoadInterval: time.Second}
	for _, a := range addresses {
		p.Servers = append(p.Servers, config.Endpoint{Host: a.Addr().String(), Port: a.Port()})
	}
	w := New(Options{})
	defer w.Close()
	must(t, w.Set([]Pool{p}))
	began, used := time.Now(), cpuTime(t)
	eventually(t, "loads of all", func() bool {
		for _, one := range w.Servers()[""].Servers {
			if one.Load.Running != 3 {
				return false
			}
		}
		return true
	})
	t.Logf("all are known after %v", time.Since(began))
	eventually(t, "three more samples of all", func() bool { return s.least(n) >= 4 })
	passed := time.Since(began)
	t.Logf("%d samples in %v, %.1f %% of a CPU for both sides; at most %d at once", s.total.Load(), passed,
		100*(cpuTime(t)-used).Seconds()/passed.Seconds(), s.most.Load())
	if most := s.most.Load(); most > maxSamples {
		t.Errorf("%d questions at once", most)
	}
}

// sampledServers answer with the same page.
type sampledServers struct {
	page      []byte
	total     atomic.Int64
	now, most atomic.Int64
	mu        sync.Mutex
	asked     map[string]int
}

func (s *sampledServers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := s.now.Add(1)
	defer s.now.Add(-1)
	for highest := s.most.Load(); now > highest && !s.most.CompareAndSwap(highest, now); highest = s.most.Load() {
	}
	s.total.Add(1)
	s.mu.Lock()
	s.asked[r.Host]++
	s.mu.Unlock()
	_, _ = w.Write(s.page)
}

// least returns how often the server was asked that was asked least, of n.
func (s *sampledServers) least(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) < n {
		return 0
	}
	least := 1 << 30
	for _, asked := range s.asked {
		least = min(least, asked)
	}
	return least
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
