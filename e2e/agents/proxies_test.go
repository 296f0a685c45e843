//go:build e2e

package agents_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/agents"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const (
	// turns is how many turns of a session are played. All 43 would exceed a model's context.
	turns = 16
	// small is a model whose context is soon full.
	small, smallContext = "small", 3000
	tenantHeader        = "x-tenant"
)

// changedRequests is how many requests of changing conversations are sent, if HARMONY_CONVERSATIONS does not say.
const changedRequests = 200

func conversations(t *testing.T) int {
	t.Helper()
	text := os.Getenv("HARMONY_CONVERSATIONS")
	if text == "" {
		return changedRequests
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// settings returns a gateway's configuration.
func settings(server string, memory config.Size) *config.Config {
	c := lab.OneModel(server)
	lab.AddModel(c, small, server)
	c.Models[1].ContextLength = smallContext
	c.PrefixMemory, c.Seal.TenantHeader = memory, tenantHeader
	return c
}

// TestProxiesSendTheSame plays sessions, and conversations that change, through a gateway that remembers how requests
// begin and one that does not: both ask the server the same, byte for byte.
func TestProxiesSendTheSame(t *testing.T) { lab.OnProxies(t, sendTheSame) }

func sendTheSame(t *testing.T, run lab.RunProxy) {
	t.Setenv(contract.SealKeysVariable, agents.SealKeys)
	without, with := runPlayed(t, run, 1, 0), runPlayed(t, run, 1, 4<<20)
	compare := func(r *agents.Request) (wanted asked) {
		t.Helper()
		var both sync.WaitGroup
		var got asked
		both.Go(func() { wanted = without.ask(r) })
		both.Go(func() { got = with.ask(r) })
		if both.Wait(); got != wanted {
			t.Fatalf("%s: %.400s\nsent %.400s\nwant %.400s", r, r.Body, got, wanted)
		}
		return wanted
	}
	count := 0
	for _, form := range []agents.Form{agents.Responses, agents.Sealed, agents.Chat} {
		sessions := []*agents.Bodies{agents.New(agents.Tuning, 1).Bodies(form, lab.Model),
			agents.New(agents.Tuning, 2).Bodies(form, lab.Model)}
		for turn := 1; turn <= turns; turn++ {
			for _, s := range sessions {
				if a := compare(&agents.Request{Form: form, Body: s.Turn(turn)}); a.status != http.StatusOK {
					t.Fatalf("%s, turn %d: %+v", form, turn, a)
				}
				count++
			}
		}
	}
	hits := recalled(t, with.host)
	if hits < count*3/4 {
		t.Errorf("%d of %d requests were recalled", hits, count)
	}
	c, n, refused := agents.NewChanging(1, time.Now, lab.Model, small), conversations(t), 0
	for range n {
		r := c.Next()
		if compare(&r).status != http.StatusOK {
			refused++
			c.Refused()
		}
	}
	more := recalled(t, with.host) - hits
	t.Logf("%d requests of changing conversations: %d were recalled, %d refused", n, more, refused)
	if more < (n-refused)/2 || refused > n/2 {
		t.Errorf("of %d requests %d were recalled, and %d refused", n, more, refused)
	}
	if n := recalled(t, without.host); n != 0 {
		t.Errorf("a gateway without a memory recalled %d requests", n)
	}
}

// played is a gateway with a server of its own.
type played struct {
	t      *testing.T
	host   *hosts.Host
	client *http.Client
	mu     sync.Mutex
	// sent is what the server was asked last.
	sent string
}

// asked is what became of a request: what the server was asked, and the status of the answer, with its body if it is an
// error.
type asked struct {
	sent, refused string
	status        int
}

func (a asked) String() string { return fmt.Sprintf("%d %s%s", a.status, a.sent, a.refused) }

// shortAnswer is what the server answers.
const shortAnswer = `data: {"id":"cmpl-1","object":"text_completion","created":1,"model":"gpt-oss-120b","choices":[` +
	`{"index":0,"text":"","token_ids":[200005,17196,200008,12194],"finish_reason":null}]}

data: {"id":"cmpl-1","object":"text_completion","created":1,"model":"gpt-oss-120b","choices":[` +
	`{"index":0,"text":"","token_ids":[200002],"finish_reason":"stop","stop_reason":null}]}

data: [DONE]

`

func runPlayed(t *testing.T, run lab.RunProxy, workers int, memory config.Size) *played {
	t.Helper()
	p := &played{t: t, client: lab.HTTP1(t)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost {
			return
		}
		p.mu.Lock()
		p.sent = r.URL.Path + " " + string(body)
		p.mu.Unlock()
		w.Header().Set("content-type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, shortAnswer)
	}))
	t.Cleanup(server.Close)
	c := settings(server.URL, memory)
	c.Envoy.Concurrency = workers
	p.host = run(t, c)
	return p
}

func (p *played) ask(r *agents.Request) asked {
	p.mu.Lock()
	p.sent = ""
	p.mu.Unlock()
	header := http.Header{}
	if r.Key != "" {
		header.Set("authorization", "Bearer "+r.Key)
	}
	if r.Tenant != "" {
		header.Set(tenantHeader, r.Tenant)
	}
	a := lab.Do(p.client, http.MethodPost, p.host.URL+r.Form.Path(), header, strings.NewReader(r.Body))
	if a.Err != nil {
		p.t.Errorf("%s: %v", r, a.Err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	out := asked{sent: p.sent, status: a.Status}
	if a.Status != http.StatusOK {
		out.refused = a.Body
	}
	return out
}

// TestConnectionsKeepTheirWorker: a client that keeps its connection stays with one of Envoy's workers, whose memory
// knows its earlier turns. Over new connections it comes to others.
func TestConnectionsKeepTheirWorker(t *testing.T) {
	p := runPlayed(t, lab.RunEnvoy, 4, 4<<20)
	fresh := lab.HTTP1(t)
	fresh.Transport.(*http.Transport).DisableKeepAlives = true
	before := 0
	for i, test := range []struct {
		name   string
		client *http.Client
		kept   bool
	}{{"HTTP/1.1", lab.HTTP1(t), true}, {"HTTP/2", lab.HTTP2(t), true}, {"new connections", fresh, false}} {
		p.client = test.client
		session := agents.New(agents.Tuning, uint64(i)).Bodies(agents.Responses, lab.Model)
		for turn := 1; turn <= turns; turn++ {
			if a := p.ask(&agents.Request{Form: agents.Responses, Body: session.Turn(turn)}); a.status != http.StatusOK {
				t.Fatalf("%s, turn %d: %+v", test.name, turn, a)
			}
		}
		hits := recalled(t, p.host) - before
		before += hits
		t.Logf("%s: %d of %d turns were recalled", test.name, hits, turns)
		if most := turns - 1; test.kept != (hits == most) {
			t.Errorf("%s: %d turns were recalled, of %d", test.name, hits, most)
		}
	}
}

// recalled returns how many requests began as an earlier one, by the host's metrics. A counter that was never raised is
// not among them.
func recalled(t *testing.T, h *hosts.Host) int {
	t.Helper()
	const path = "/stats/prometheus"
	var scrape []byte
	if h.Process != nil {
		var err error
		if scrape, err = h.Process.Get(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	} else {
		reply := httptest.NewRecorder()
		h.Server.Prometheus().ServeHTTP(reply, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		scrape = reply.Body.Bytes()
	}
	m := regexp.MustCompile(`(?m)^harmony_prefix_requests_total\{[^}]*kind="hit"[^}]*\} (\d+)$`).FindSubmatch(scrape)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
