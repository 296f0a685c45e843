//go:build e2e

package clients

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	// earlyAnswer is what the server goes on with for seconds after its answer has ended: 36 tokens in as many events.
	earlyAnswer = "<|channel|>analysis<|message|>Let me think about it " +
		"now<|end|><|start|>assistant<|channel|>final<|message|>" +
		"One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen " +
		"eighteen nineteen twenty<|return|>"
	earlyRate = 5 // tokens a second: what a busy machine is late by is no chunk
	// mostWasted is how many chunks more a server may send before it sees that it was let go.
	mostWasted = 3
)

// The requests: a stop sequence, a limit on reasoning, and none.
var earlyBodies = map[string]string{
	"chat stop": `{"model":"` + lab.Model +
		`","messages":[{"role":"user","content":"Hi"}],"stop":" three","stream":%t}`,
	"chat cap": `{"model":"` + lab.Model +
		`","messages":[{"role":"user","content":"Hi"}],"thinking_token_budget":2,"stream":%t}`,
	"chat":          `{"model":"` + lab.Model + `","messages":[{"role":"user","content":"Hi"}],"stream":%t}`,
	"responses cap": `{"model":"` + lab.Model + `","input":"Hi","thinking_token_budget":2,"stream":%t}`,
	"responses":     `{"model":"` + lab.Model + `","input":"Hi","stream":%t}`,
}

// earlyRow is a request that ends early: how, how its client reads, and what becomes of its server.
type earlyRow struct {
	asks   string // of earlyBodies
	stream bool
	client string // one of those below
	server serverEnd
}

// The clients: one that stops at [DONE], one that reads to the end of the body, one that leaves, and real ones.
const (
	stopsAtDone = "stops at [DONE]"
	readsOn     = "reads to the end"
	leaves      = "leaves"
	python      = "openai-python"
	asyncPython = "openai-python, async"
	node        = "openai-node"
	vercel      = "vercel-ai"
)

// serverEnd is what becomes of the server.
type serverEnd int

const (
	letGo   serverEnd = iota // at its next chunks, or before
	cut                      // the same, and the client sees it, after the last event
	awaited                  // it ends by itself, and so does the client
)

// earlyRows are the rows of a gateway as it comes.
var earlyRows = []earlyRow{
	{"chat stop", true, stopsAtDone, letGo},
	{"chat stop", true, readsOn, awaited},
	{"chat stop", true, python, letGo},
	{"chat stop", true, asyncPython, letGo},
	{"chat stop", true, node, letGo},
	{"chat stop", true, vercel, awaited},
	{"chat stop", false, readsOn, letGo},
	{"chat stop", false, python, letGo},
	{"chat stop", false, node, letGo},
	{"chat stop", false, vercel, letGo},
	{"chat cap", true, stopsAtDone, letGo},
	{"chat cap", true, readsOn, awaited},
	{"chat cap", true, python, letGo},
	{"chat cap", true, node, letGo},
	{"chat cap", true, vercel, awaited},
	{"chat cap", false, readsOn, letGo},
	{"responses cap", true, readsOn, awaited},
	{"responses cap", true, python, awaited},
	{"responses cap", false, readsOn, letGo},
	{"responses cap", false, python, letGo},
	{"chat", true, leaves, letGo},
	{"chat", false, leaves, letGo},
	{"responses", true, leaves, letGo},
}

// hastyRows are the rows of a gateway with drain_tokens: 0.
var hastyRows = []earlyRow{
	{"chat stop", true, stopsAtDone, letGo},
	{"chat stop", true, readsOn, cut},
	{"chat stop", true, python, letGo},
	{"chat stop", true, node, letGo},
	{"chat cap", true, readsOn, cut},
	{"responses cap", true, readsOn, awaited},
}

// TestEarlyEnd shows that the gateway releases a server whose answer has ended early, over each protocol on either
// side. If the client reads on after the end, the gateway waits for the server, up to drain_tokens. The test prints how
// many tokens were wasted.
func TestEarlyEnd(t *testing.T) {
	lab.Long(t, "test-clients")
	server, url := lab.RunSim(t, sim.Options{TokensPerSecond: earlyRate,
		Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(earlyAnswer)})})
	hasty := lab.OneModel(url)
	hasty.Models[0].DrainTokens = 0
	toHTTP2 := lab.HTTP2To(xds.PoolCluster(&config.Model{Name: lab.Model}))
	one, two := lab.RunEnvoy(t, lab.OneModel(url)).URL, lab.RunEnvoy(t, lab.OneModel(url), toHTTP2).URL
	inOne, inTwo := lab.RunWazero(t, lab.OneModel(url)).URL, lab.RunWazero(t, lab.OneModel(url), toHTTP2).URL
	hastyOne, hastyTwo := lab.RunEnvoy(t, hasty).URL, lab.RunEnvoy(t, hasty, toHTTP2).URL
	programs := clientFolder(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	var table []string
	for _, host := range []struct {
		name, url, protocol string
		rows                []earlyRow
		realClients         bool
	}{
		{"native", lab.RunNative(t, lab.OneModel(url)).URL, "h1", earlyRows, false},
		{"wazero, HTTP1 to HTTP1", inOne, "h1", earlyRows, true}, {"wazero, HTTP2 to HTTP1", inOne, "h2", earlyRows, false},
		{"wazero, HTTP1 to HTTP2", inTwo, "h1", earlyRows, false}, {"wazero, HTTP2 to HTTP2", inTwo, "h2", earlyRows, false},
		{"envoy, HTTP1 to HTTP1", one, "h1", earlyRows, true}, {"envoy, HTTP2 to HTTP1", one, "h2", earlyRows, false},
		{"envoy, HTTP1 to HTTP2", two, "h1", earlyRows, false}, {"envoy, HTTP2 to HTTP2", two, "h2", earlyRows, false},
		{"envoy, drain_tokens 0, HTTP1 to HTTP1", hastyOne, "h1", hastyRows, true},
		{"envoy, drain_tokens 0, HTTP2 to HTTP1", hastyOne, "h2", hastyRows, false},
		{"envoy, drain_tokens 0, HTTP1 to HTTP2", hastyTwo, "h1", hastyRows, false},
		{"envoy, drain_tokens 0, HTTP2 to HTTP2", hastyTwo, "h2", hastyRows, false},
		{"wazero, drain_tokens 0", lab.RunWazero(t, hasty).URL, "h1", hastyRows, false},
	} {
		rows := slices.DeleteFunc(slices.Clone(host.rows),
			func(r earlyRow) bool { return !host.realClients && earlyPrograms[r.client] != "" })
		ids := make([]string, len(rows))
		for i, r := range rows {
			ids[i] = fmt.Sprintf("%s | %s | %s | %s", host.name, r.asks,
				map[bool]string{true: "stream", false: "whole"}[r.stream], r.client)
		}
		all.Go(func() {
			results := runEarly(t, server, programs, host.url, host.protocol, rows, ids)
			for i, r := range rows {
				line := r.check(t, server, ids[i], host.protocol, results[i])
				mu.Lock()
				table = append(table, line)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(table)
	t.Logf("hosts, down to up | asked for | answer | client | tokens wasted | the client's end\n%s",
		strings.Join(table, "\n"))
}

// check waits until the server is through with the row and returns its line of the table.
func (r earlyRow) check(t *testing.T, server *sim.Server, id, protocol string, got earlyResult) string {
	ctx, cancel := context.WithTimeout(context.Background(), lab.Patience)
	defer cancel()
	var request sim.Request
	_, err := server.Await(ctx, func(list []sim.Request) bool {
		for _, q := range list {
			if q.Header.Get("x-row") == id && q.Done {
				request = q
				return true
			}
		}
		return false
	})
	if err != nil {
		t.Errorf("%s: the server goes on: %v", id, err)
	}
	wasted, end := request.TokensSent-got.had, "no error"
	if got.err != nil {
		end = "error behind the last word"
	}
	wantFinish := map[string]string{"chat stop": "stop", "chat cap": "length", "responses cap": "incomplete"}[r.asks]
	switch {
	case got.finish != wantFinish:
		t.Errorf("%s: finished as %q, want %q (%v)", id, got.finish, wantFinish, got.err)
	case r.server == cut && !lab.IsReset(got.err, protocol), r.server != cut && got.err != nil:
		t.Errorf("%s: ended with %v", id, got.err)
	case r.server == awaited && (request.Aborted || wasted < mostWasted):
		t.Errorf("%s: the server was not waited for: %+v", id, request)
	case r.server != awaited && (!request.Aborted || wasted > mostWasted || got.had == 0):
		t.Errorf("%s: %d tokens were wasted behind %d, aborted %v", id, wasted, got.had, request.Aborted)
	}
	return fmt.Sprintf("%s | %d | %s", id, wasted, end)
}
