//go:build e2e

package tap

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy/inprocess"
	"github.com/harmonyedge/harmonyedge/filter/wasmhost"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// gateway is a host of the filter that may log lines, and what it has logged.
type gateway struct {
	*hosts.Host
	logged func() string
}

// runTroubled runs a host whose filter may complain.
func runTroubled(t *testing.T, name, server, recorder string) *gateway {
	t.Helper()
	setup := hosts.Setup{Config: tappedModel(server, recorder, contract.TapEverything)}
	r, err := hosts.Resources(setup)
	if err != nil {
		t.Fatal(err)
	}
	g := &gateway{}
	if name == "envoy" {
		if g.Host, err = hosts.EnvoyWith(setup, r); err == nil {
			g.logged = func() string { return g.Process.Log(10_000) }
		}
	} else {
		var lines lab.Output
		g.Host, err = hosts.WazeroWith(r, inprocess.Options{Workers: 1,
			Log:       func(level wasmhost.Level, text string) { fmt.Fprintf(&lines, "[%s] %s\n", level, text) },
			Violation: func(what string) { t.Errorf("Envoy would not survive this: %s", what) }})
		g.logged = lines.String
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Stop)
	return g
}

// memory returns the size of the memory of the filter's VM, in bytes, where the host tells it.
func (g *gateway) memory() int {
	if g.Server == nil {
		return 0
	}
	return g.Server.Proxy().Stats()[0].MemoryBytes
}

// reloads returns how many VMs the host has lost.
func (g *gateway) reloads(t *testing.T) int {
	t.Helper()
	if g.Server != nil {
		s := g.Server.Proxy().Stats()[0]
		if s.Failed {
			return s.Reloads + 1
		}
		return s.Reloads
	}
	ctx, cancel := context.WithTimeout(t.Context(), lab.Patience)
	defer cancel()
	stats, err := g.Process.Get(ctx, "/stats?filter=wasm.harmony.vm_reload")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ReplaceAll(string(stats), ": 0\n", ""), ": ") {
		return 1
	}
	return 0
}

// load sends tapped requests of a body of 100 KB, some at once, and returns how long the slowest took.
func load(t *testing.T, g *gateway, requests int) (slowest time.Duration) {
	t.Helper()
	client := lab.HTTP1(t)
	body := lab.ChatBody(lab.Model, "Hi "+strings.Repeat("long text ", 10_000))
	var mu sync.Mutex
	var running sync.WaitGroup
	tokens := make(chan struct{}, 4)
	for i := range requests {
		tokens <- struct{}{}
		running.Go(func() {
			defer func() { <-tokens }()
			text := body
			if i%2 > 0 {
				text = streamed(body)
			}
			began := time.Now()
			a := ask(client, g.Host, lab.ChatPath, text, key)
			took := time.Since(began)
			if a.Err != nil || a.Status != http.StatusOK || !strings.Contains(a.Body, "rich") {
				t.Errorf("request %d: %d, %.300s, %v", i, a.Status, a.Body, a.Err)
			}
			mu.Lock()
			defer mu.Unlock()
			slowest = max(slowest, took)
		})
	}
	running.Wait()
	return slowest
}

// TestTroubledRecorder: a recorder that is dead, silent, rude or slow harms no request, and takes no more memory than
// it may. It is told of lost frames when it is well again.
func TestTroubledRecorder(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) {
			_, url := runServer(t)
			for name, trouble := range map[string]func(w http.ResponseWriter, q *http.Request) bool{
				"refuses": func(w http.ResponseWriter, _ *http.Request) bool {
					http.Error(w, "no", http.StatusForbidden)
					return false
				},
				"hangs": func(_ http.ResponseWriter, q *http.Request) bool {
					<-q.Context().Done()
					return false
				},
				"slow": func(_ http.ResponseWriter, q *http.Request) bool {
					select { // a slow machine, played
					case <-time.After(300 * time.Millisecond):
					case <-q.Context().Done():
					}
					return true
				},
				"drops": func(w http.ResponseWriter, _ *http.Request) bool {
					conn, _, err := http.NewResponseController(w).Hijack()
					if err == nil {
						_ = conn.Close()
					}
					return false
				},
				"garbage": func(w http.ResponseWriter, _ *http.Request) bool {
					conn, _, err := http.NewResponseController(w).Hijack()
					if err == nil {
						_, _ = conn.Write([]byte("kanarienvogel\r\n\r\n"))
						_ = conn.Close()
					}
					return false
				},
				"large answer": func(w http.ResponseWriter, _ *http.Request) bool {
					_, _ = w.Write(make([]byte, 1<<20))
					return true
				},
			} {
				t.Run(name, func(t *testing.T) {
					r := runRecorder(t)
					var well atomic.Bool
					r.answer = func(w http.ResponseWriter, q *http.Request) bool { return well.Load() || trouble(w, q) }
					g := runTroubled(t, host, url, r.URL)
					load(t, g, 4)
					before := g.memory()
					slowest := load(t, g, 60) // 30 MB of frames
					if grown := g.memory() - before; grown > 16<<20 {
						t.Errorf("the VM's memory has grown by %d bytes", grown)
					}
					if r.most > 1 || r.largest > 256<<10 {
						t.Errorf("%d calls at once, the largest of %d bytes", r.most, r.largest)
					}
					well.Store(true)
					// The frames that waited go out, and then everything of a new request comes. The recorder may hear of a
					// request later than its client, when the next one is under way: any of the answers will do.
					answers := map[string]bool{}
					r.wait("a whole request", func() bool {
						r.mu.Unlock()
						a := ask(lab.HTTP1(t), g.Host, lab.ChatPath, lab.ChatBody(lab.Model, "Hi again"), "")
						r.mu.Lock()
						if a.Status != http.StatusOK {
							t.Errorf("%+v", a)
						}
						answers[a.Body] = true
						for _, x := range r.ended {
							if strings.Contains(x.body, "Hi again") && x.end.LostFrames == 0 && answers[x.answer] {
								return true
							}
						}
						return false
					})
					lost := 0
					for _, x := range r.ended {
						lost += x.end.LostFrames
					}
					t.Logf("the slowest of 60 took %s; %d calls, %d requests have ended, %d frames of them were lost", slowest,
						r.calls, len(r.ended), lost)
					if g.reloads(t) > 0 {
						t.Error("a VM was lost")
					}
					said := strings.Count(g.logged(), "harmony: tap: ")
					if strings.Contains(g.logged(), "kanarienvogel") || strings.Contains(g.logged(), key) || said > 2 ||
						said == 0 && name != "slow" && name != "large answer" && name != "hangs" {
						t.Errorf("%d lines of the log: %s", said, g.logged())
					}
				})
			}
		})
	}
}

// TestDeadRecorder: as above with a recorder that does not listen, and one whose name nobody knows, for which the proxy
// refuses each call at once.
func TestDeadRecorder(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	for _, host := range []string{"envoy", "wazero"} {
		for name, recorder := range map[string]string{"dead": deadURL(t), "unknown": "http://recorder.invalid:9903"} {
			t.Run(host+" "+name, func(t *testing.T) {
				_, url := runServer(t)
				g := runTroubled(t, host, url, recorder)
				load(t, g, 40)
				complaints := func() int { return strings.Count(g.logged(), "harmony: tap: ") }
				for limit := time.Now().Add(lab.Patience); complaints() == 0 && time.Now().Before(limit); {
					load(t, g, 1)
				}
				if g.reloads(t) > 0 || complaints() != 1 {
					t.Errorf("%d VMs were lost; the log: %s", g.reloads(t), g.logged())
				}
			})
		}
	}
}

// TestLostFrames: the end of a request says how many of its frames were lost.
func TestLostFrames(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) {
			_, url := runServer(t)
			r := runRecorder(t)
			var refuses atomic.Bool
			refuses.Store(true)
			r.answer = func(w http.ResponseWriter, _ *http.Request) bool {
				if refuses.Load() {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
				return !refuses.Load()
			}
			g := runTroubled(t, host, url, r.URL)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			q, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+lab.ChatPath,
				strings.NewReader(streamed(lab.ChatBody(lab.Model, "Hi"))))
			if err != nil {
				t.Fatal(err)
			}
			q.Header.Set("X-Sim-Fault", "stall:5")
			response, err := lab.HTTP1(t).Do(q)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			r.wait("a call", func() bool { return r.calls > 0 })
			// The next call comes only when the answer to this one has been seen.
			if a := ask(lab.HTTP1(t), g.Host, lab.ChatPath, lab.ChatBody(lab.Model, "Hi"), ""); a.Status != http.StatusOK {
				t.Errorf("%+v", a)
			}
			r.wait("two calls", func() bool { return r.calls > 1 })
			refuses.Store(false)
			leave()
			var x *tapped
			r.wait("the end", func() bool {
				for _, one := range r.ended {
					if one.end.Cut == "client" {
						x = one
					}
				}
				return x != nil
			})
			if lost := x.end.LostFrames; lost < 6 || lost > 60 || x.order() != "E" && x.body == "" {
				t.Errorf("%d frames were lost, %s came, the end is %+v", lost, x.order(), x.end)
			}
		})
	}
}
