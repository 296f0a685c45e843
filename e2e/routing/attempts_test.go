//go:build e2e

package routing

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// startMany starts servers that answer completions so. Their addresses are the servers of a pool.
func startMany(t *testing.T, servers int, answer func(s *httptest.Server) http.HandlerFunc) (urls []string) {
	for range servers {
		var s *httptest.Server
		s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(s)(w, r) }))
		t.Cleanup(s.Close)
		t.Cleanup(s.CloseClientConnections)
		urls = append(urls, s.URL)
	}
	return urls
}

// addPool adds a pool of servers of a kind, and a model on it with the pool's name.
func addPool(c *config.Config, name, kind string, servers []string) *config.Model {
	c.Pools = append(c.Pools, config.Pool{Name: name, Kind: kind, Servers: servers,
		Health: config.Health{Path: config.NoHealthChecks}})
	m := config.DefaultModel(name, contract.VLLM+"=http://127.0.0.1:1")
	m.Servers, m.Pool, m.ServerModel = nil, name, lab.Model
	c.Models = append(c.Models, m)
	return &c.Models[len(c.Models)-1]
}

// TestKillers: a request that kills the server which gets it does not get to many, whenever they die.
func TestKillers(t *testing.T) {
	deaths := []struct {
		name  string
		after time.Duration
		most  int64
	}{
		{"with-headers", 0, contract.MaxLost}, {"without-headers", 100 * time.Millisecond, contract.MaxLost},
		// The first one of these may have refused the connection, for all that Envoy knows.
		{"at-once", 0, contract.MaxLost + 1},
	}
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		_, other := lab.RunSim(t, sim.Options{})
		c := lab.OneModel(other)
		killed := make([]atomic.Int64, len(deaths))
		for i, death := range deaths {
			addPool(c, death.name, contract.VLLM, startMany(t, 6, func(s *httptest.Server) http.HandlerFunc {
				return func(w http.ResponseWriter, _ *http.Request) {
					killed[i].Add(1)
					if death.name == "with-headers" {
						w.Header().Set("content-type", "text/event-stream")
						_ = http.NewResponseController(w).Flush()
					}
					time.Sleep(death.after)
					_ = s.Listener.Close()
					panic(http.ErrAbortHandler)
				}
			}))
		}
		host := run(t, c)
		for i, death := range deaths {
			a := askFor(t, host.URL, lab.ChatPath, lab.ChatBody(death.name, "Hello"))
			if got := killed[i].Load(); got > death.most || got == 0 {
				t.Errorf("%s: %d servers were killed", death.name, got)
			}
			if a.Status != http.StatusServiceUnavailable || !strings.Contains(a.Body, `"code":"server_error"`) {
				t.Errorf("%s: %d %s", death.name, a.Status, a.Body)
			}
		}
	})
}

// TestWellOpenings: servers whose answers only look as if they had failed are asked once, and their clients get the
// answers. One that has no content has failed.
func TestWellOpenings(t *testing.T) {
	const role = `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	alive := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-type", "text/event-stream")
		_, _ = io.WriteString(w, role)
		for range 6 { // which is longer than the stall timeout
			_, _ = io.WriteString(w, ": still at work\n\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(lab.StallTimeout / 4)
		}
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}`+
			"\n\ndata: [DONE]\n\n")
	}
	raw := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"text":"hello","finish_reason":"stop"}]}`)
	}
	empty := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }
	tests := []struct {
		name, kind, path, body string
		answer                 http.HandlerFunc
		once                   bool
		want                   string
	}{
		{"alive", contract.Chat, lab.ChatPath,
			`{"model":"alive","stream":true,"messages":[{"role":"user","content":"a"}]}`, alive, true, "hello"},
		{"raw", contract.VLLM, contract.CompletionsPath, `{"model":"raw","prompt":"a","max_tokens":3}`, raw, true, "hello"},
		{"empty", contract.VLLM, lab.ChatPath, lab.ChatBody("empty", "a"), empty, false, "could not be understood"},
	}
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		_, other := lab.RunSim(t, sim.Options{})
		c := lab.OneModel(other)
		c.StallTimeout = config.Duration(lab.StallTimeout)
		asked := make([]atomic.Int64, len(tests))
		for i, tt := range tests {
			m := addPool(c, tt.name, tt.kind, startMany(t, 2, func(*httptest.Server) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					asked[i].Add(1)
					tt.answer(w, r)
				}
			}))
			if tt.kind == contract.VLLM {
				m.RawPrompts = contract.RawPromptsAllow
			}
		}
		host := run(t, c)
		for i, tt := range tests {
			a := askFor(t, host.URL, tt.path, tt.body)
			if a.Err != nil || !strings.Contains(a.Body, tt.want) || (asked[i].Load() == 1) != tt.once {
				t.Errorf("%s: asked %d times: %v %d %s", tt.name, asked[i].Load(), a.Err, a.Status, a.Body)
			}
		}
	})
}

func askFor(t *testing.T, url, path, body string) lab.Answer {
	return lab.Do(lab.HTTP1(t), http.MethodPost, url+path, http.Header{"Content-Type": {"application/json"}},
		strings.NewReader(body))
}
