//go:build e2e

package instructions

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/agents"
	"github.com/harmonyedge/harmonyedge/e2e/instructions/wasmcount"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/filter/filtertest"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/sim"
)

// gateway is the filter before a simulated server of a kind, without a network, with counts.
type gateway struct {
	t       *testing.T
	kind    *contract.Kind
	host    *filtertest.Host
	server  *sim.Server
	counter *wasmcount.Counter
	// start is what the start of the VM took, sum what the load took.
	start, sum wasmcount.Counts
	// startProfile is the profile of the start. The load's is the counter's.
	startProfile wasmcount.Frame
	// tapped reports whether there is a recorder.
	tapped bool
	// answers are the server's, by question.
	answers map[string][]string
}

// instrumented writes the shipped filter with counting into a file.
func instrumented(t *testing.T) string {
	t.Helper()
	module, err := os.ReadFile(lab.Tool(t, "HARMONY_WASM"))
	if err != nil {
		t.Fatal(err)
	}
	if module, err = wasmcount.Instrument(module); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "counting.wasm")
	if err := os.WriteFile(path, module, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// collector is the function that runs TinyGo's collector, which is part of it.
const collector = "(*github.com/harmonyedge/harmonyedge/filter/internal/plugin.heap).collect"

// newGateway starts the filter for a load.
func newGateway(t *testing.T, wasm string, l *load, profile bool) *gateway {
	t.Helper()
	kind, tapped := l.kind, l.tapped
	g := &gateway{t: t, tapped: tapped != "", kind: contract.KindNamed(kind), answers: map[string][]string{},
		counter: &wasmcount.Counter{Allocator: "runtime.alloc", Collector: collector, Profile: profile}}
	var lines []sim.Line
	for question, sentences := range map[string]int{shortAnswer: 1, longAnswer: 80} {
		text := "<|channel|>analysis<|message|>Zürich, then.<|end|><|start|>assistant<|channel|>final<|message|>" +
			strings.Repeat(sentence, sentences) + "<|return|>"
		lines = append(lines, sim.Line{Match: question, Tokens: o200k.Tokenizer().AppendEncodeSpecial(nil, text)})
	}
	g.server = sim.New(sim.Options{Kind: kind, Models: []string{lab.Model}, AnyPrompt: true, TextSpecials: true,
		MaxModelLen: sessionContext, Script: sim.NewScript(lines...)})
	settings, options := "", []filtertest.Option{filtertest.Context(g.counter.Context(context.Background()))}
	if tapped != "" {
		settings = `"tap":{"cluster":"` + contract.TapCluster + `","all":"` + tapped + `"},`
		options = append(options, filtertest.Clusters(filtertest.Server, contract.TapCluster),
			filtertest.Environment(map[string]string{contract.TapKeyVariable: "a key of these counts"}),
			filtertest.OnCallout(func(c *filtertest.Callout) { c.Respond(http.StatusOK, "") }))
	}
	routing := ""
	if l.alike {
		routing = `,"policy":"prefix","routing":{"affinity":true}`
	}
	if l.repeats {
		routing = `,"repetition_detection":{"reasoning":"end","text":"end","min_tokens":4096}`
	}
	if l.session {
		routing = fmt.Sprintf(`,"context_length":%d`, sessionContext)
		options = append(options,
			filtertest.Environment(map[string]string{contract.SealKeysVariable: agents.SealKeys}))
	}
	if l.session && !l.remembers {
		settings += `"prefix_memory":0,`
	}
	g.host = filtertest.New(t, wasm, `{"schema":1,`+settings+`"models":[{"name":"`+lab.Model+`","server":"`+kind+`"`+
		routing+`}]}`, options...)
	if err := g.counter.Check(); err != nil {
		t.Fatal(err)
	}
	g.start, g.startProfile = g.counter.Counts(), *g.counter.Root()
	*g.counter.Root(), g.counter.Paused = wasmcount.Frame{}, true
	return g
}

// countIf does some work and, if it is to be counted, adds what it takes to the sum.
func (g *gateway) countIf(counting bool, work func()) {
	before := g.counter.Counts()
	g.counter.Paused = !counting
	work()
	g.counter.Paused = true
	if counting {
		g.sum = g.sum.Add(g.counter.Counts().Sub(before))
	}
}

// record lets the filter send what it has for a recorder, if there is one.
func (g *gateway) record() {
	if g.tapped {
		g.host.Advance(20 * time.Millisecond)
	}
}

// request sends a client's request, which must reach the server.
func (g *gateway) request(a api, question string, streamed, counting bool) *filtertest.Exchange {
	g.t.Helper()
	head := `{"model":"` + lab.Model + `",`
	if streamed {
		head += `"stream":true,`
	}
	var x *filtertest.Exchange
	g.countIf(counting, func() {
		x = g.host.Request(http.MethodPost, a.path, head+a.body(strconv.Quote(question))+"}", append([]string{
			"content-type", "application/json", "accept", "*/*", "accept-encoding", "gzip, deflate",
			"authorization", "Bearer key", "user-agent", "OpenAI/Python 2.8.0"}, a.headers...)...)
	})
	if x.Server().State == filtertest.Nothing {
		g.t.Fatalf("the request has not reached the server: %+v", x.Client())
	}
	return x
}

// pieces returns the server's answer to a request that has reached it, event by event.
func (g *gateway) pieces(x *filtertest.Exchange) []string {
	g.t.Helper()
	body := x.Server().Body()
	if g.answers[body] == nil {
		r := httptest.NewRequestWithContext(g.t.Context(), http.MethodPost, g.kind.Path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		g.server.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), g.kind.StreamType()) {
			g.t.Fatalf("%s answers %d: %.300s", g.kind.Name, w.Code, w.Body)
		}
		end := "\n"
		if g.kind.StreamType() == "text/event-stream" {
			end = "\n\n"
		}
		g.answers[body] = strings.SplitAfter(w.Body.String(), end)
	}
	return g.answers[body]
}
