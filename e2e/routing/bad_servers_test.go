//go:build e2e

package routing

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/picker"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
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

// badServers are servers whose health is good and whose answers are not, as vLLM's would be. The server that fails
// fastest has the fewest requests, so that least_request prefers it.
var badServers = []struct {
	name   string
	answer http.HandlerFunc
}{
	{"401", status(401, `{"error":"Unauthorized"}`)},
	{"404", status(404, `{"detail":"Not Found"}`)},
	{"dies after its headers", events("", true)},
	{"drains", events(`data: {"id":"a","object":"text_completion","created":1,"model":"m","choices":[{"index":0,"text":"",`+
		`"token_ids":[],"logprobs":null,"finish_reason":"abort","stop_reason":null}]}`+"\n\ndata: [DONE]\n\n", false)},
	{"answers nothing", events("data: [DONE]\n\n", false)},
	{"503", status(503, `{"error":{"message":"The server is busy. Try again later or on a different instance.",`+
		`"type":"ServiceUnavailableError","code":503}}`)},
	{"hangs", func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}},
	{"another model", status(404, `{"error":{"message":"The model does not exist.","type":"NotFoundError","param":"model",`+
		`"code":404}}`)},
}

// maxFailures is how many requests of a client may fail until a bad server is put out. A server that hangs can be asked
// twice for one request, because least_request takes no account of the first time.
const maxFailures = 2

// badPool is a pool of a bad server and a well one.
type badPool struct {
	config.Pool
	bad   int
	asked *atomic.Int64
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

// TestBadServers: of two servers one is bad, whichever way, and clients do not notice it.
func TestBadServers(t *testing.T) {
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		pools := badPools(t, []config.Pool{{Policy: config.PolicyLeastRequest}, {Policy: config.PolicyRoundRobin}})
		host := run(t, badConfig(t, pools))
		for _, p := range pools {
			if failed := askMany(t, host.URL, p.Name, 24); failed > maxFailures || p.asked.Load() == 0 {
				t.Errorf("%s, %s: %d of 24 requests failed; the bad server was asked %d times", p.Policy, badServers[p.bad].name,
					failed, p.asked.Load())
			}
		}
	})
}

// badPools returns a pool of each kind of bad server for each policy.
func badPools(t *testing.T, policies []config.Pool) (all []badPool) {
	for _, pool := range policies {
		for i, bad := range badServers {
			url, count := startBad(t, bad.answer)
			_, well := lab.RunSim(t, sim.Options{})
			p := badPool{pool, i, count}
			p.Name, p.Servers = "pool-"+strconv.Itoa(len(all)), []string{url, well}
			// Readiness and checks do not help: requests alone find the server bad.
			p.Health = config.Health{Path: config.NoHealthChecks}
			all = append(all, p)
		}
	}
	return all
}

// badConfig returns a configuration with a model for each pool, by the pool's name.
func badConfig(t *testing.T, pools []badPool) *config.Config {
	_, other := lab.RunSim(t, sim.Options{})
	c := lab.OneModel(other)
	c.StallTimeout = config.Duration(lab.StallTimeout)
	for _, p := range pools {
		lab.AddModel(c, p.Name, other)
		m := &c.Models[len(c.Models)-1]
		m.Servers, m.Pool, m.ServerModel = nil, p.Name, lab.Model
		c.Pools = append(c.Pools, p.Pool)
	}
	return c
}

// runPicker runs the picker of these pools at an address until the test ends.
func runPicker(t *testing.T, address string, pools []badPool) {
	servers := map[string][]picker.Server{}
	for _, p := range pools {
		for _, url := range p.Servers {
			at := netip.MustParseAddrPort(strings.TrimPrefix(url, "http://"))
			servers[p.Name] = append(servers[p.Name], picker.Server{Address: at, Requests: -1})
		}
	}
	p := picker.New(picker.Options{})
	p.Set(servers)
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- picker.NewService(p, nil).Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
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
