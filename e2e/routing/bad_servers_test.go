//go:build e2e

package routing

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// events returns what answers a completion with these events, and then ends the response or cuts it.
func events(body string, cut bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, body)
		_ = http.NewResponseController(w).Flush()
		if cut {
			panic(http.ErrAbortHandler)
		}
	}
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// badServers are servers whose health is good and whose answers are not, as vLLM's would be. Whatever fails fastest has
// the fewest requests, so that least_request prefers it.
var badServers = []struct {
	name   string
	answer http.HandlerFunc
	// failures is how many of a test's requests may fail. Below 0 it is not known to be bounded: the answer begins like a
	// good one, and Envoy has nothing to go by (RATIONALE.md#204).
	failures int64
}{
	{"401", status(401, `{"error":"Unauthorized"}`), 0},
	{"404", status(404, `{"detail":"Not Found"}`), 0},
	{"dies-after-headers", events("", true), -1},
	{"drains", events(`data: {"id":"a","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"",`+
		`"token_ids":[],"logprobs":null,"finish_reason":"abort","stop_reason":null}]}`+"\n\ndata: [DONE]\n\n", false), -1},
	{"empty", events("data: [DONE]\n\n", false), -1},
	{"503", status(503, `{"error":{"message":"The server is busy. Try again later or on a different instance.",`+
		`"type":"ServiceUnavailableError","code":503}}`), 0},
	{"hangs", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}, -1},
	{"wrong-model", status(404, `{"error":{"message":"The model does not exist.","type":"NotFoundError","param":"model",`+
		`"code":404}}`), 0},
}

// startBad starts a server whose completions are answered by answer, and counts them.
func startBad(t *testing.T, answer http.HandlerFunc) (url string, asked *atomic.Int64) {
	asked = &atomic.Int64{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			return // it is healthy
		}
		asked.Add(1)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	return s.URL, asked
}

// TestBadServers: of two servers one fails fast and the other is well. Clients do not notice statuses that cost nothing.
// With HARMONY_BAD_TABLE the test prints what was seen of every policy and every kind, after HARMONY_BAD_REQUESTS
// requests each, and demands nothing: it takes two minutes, of which servers that hang take most.
func TestBadServers(t *testing.T) {
	requests, table := 40, os.Getenv("HARMONY_BAD_TABLE") != ""
	if n, err := strconv.Atoi(os.Getenv("HARMONY_BAD_REQUESTS")); err == nil {
		requests = n
	}
	policies := []config.Pool{{Policy: config.PolicyLeastRequest}, {Policy: config.PolicyRoundRobin}}
	if table {
		policies = append(policies, config.Pool{Policy: config.PolicyPrefix},
			config.Pool{Policy: config.PolicySession, Session: config.Session{Header: "x-session"}})
	}
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		_, other := lab.RunSim(t, sim.Options{})
		c := lab.OneModel(other)
		c.StallTimeout = config.Duration(lab.StallTimeout)
		asked := map[string]*atomic.Int64{}
		for _, pool := range policies {
			for _, bad := range badServers {
				pool.Name = pool.Policy + "-" + bad.name
				_, well := lab.RunSim(t, sim.Options{})
				url, count := startBad(t, bad.answer)
				pool.Servers, asked[pool.Name] = []string{url, well}, count
				// Readiness and checks do not help: requests alone find the server bad.
				pool.Health = config.Health{Path: config.NoHealthChecks}
				lab.AddModel(c, pool.Name, well)
				m := &c.Models[len(c.Models)-1]
				m.Servers, m.Pool, m.ServerModel = nil, pool.Name, lab.Model
				c.Pools = append(c.Pools, pool)
			}
		}
		host := run(t, c)
		for _, pool := range policies {
			for _, bad := range badServers {
				name := pool.Policy + "-" + bad.name
				if !table && bad.failures < 0 {
					continue
				}
				failed := askMany(t, host.URL, name, requests)
				got := asked[name].Load()
				if table {
					t.Logf("ROW %s | %s | %d of %d | asked %d times", t.Name(), name, failed, requests, got)
				} else if failed > bad.failures || got == 0 {
					t.Errorf("%s: %d of %d requests failed; the bad server was asked %d times", name, failed, requests, got)
				}
			}
		}
	})
}

// askMany sends requests of four clients and returns how many have failed.
func askMany(t *testing.T, url, model string, requests int) int64 {
	const clients = 4
	client := lab.HTTP1(t)
	var failed, next atomic.Int64
	var busy sync.WaitGroup
	for range clients {
		busy.Go(func() {
			for n := next.Add(1); n <= int64(requests); n = next.Add(1) {
				number := strconv.FormatInt(n, 10)
				header := http.Header{"Content-Type": {"application/json"}, "X-Session": {number}}
				body := lab.ChatBody(model, "Question "+number)
				a := lab.Do(client, http.MethodPost, url+lab.ChatPath, header, strings.NewReader(body))
				if a.Err != nil || a.Status != http.StatusOK || !strings.Contains(a.Body, `"finish_reason":"stop"`) {
					failed.Add(1)
				}
			}
		})
	}
	busy.Wait()
	return failed.Load()
}
