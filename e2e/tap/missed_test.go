//go:build e2e

package tap

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sight/record"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
	"github.com/harmonyedge/harmonyedge/sim"
)

// turns returns a conversation of so many questions, with a tool of this name.
func turns(model string, questions int, tool string) string {
	input := []string{}
	for i := range questions {
		if i > 0 {
			input = append(input, `{"role":"assistant","content":"In Zürich it rains."}`)
		}
		input = append(input, fmt.Sprintf(`{"role":"user","content":"Hi, %d: %s"}`, i,
			strings.Repeat("where does it rain? ", 40)))
	}
	return fmt.Sprintf(`{"model":%q,"prompt_cache_key":"k","tools":[{"type":"function","name":%q,"parameters":{}}],`+
		`"input":[%s]}`, model, tool, strings.Join(input, ","))
}

// missing is a gateway whose requests are recorded, before a model with one server and one with two that take turns.
type missing struct {
	one, two *sim.Server
	host     *hosts.Host
	recorder *record.Recorder
	events   <-chan record.Event
}

func startMissing(t *testing.T, run lab.RunProxy) *missing {
	t.Helper()
	options := sim.Options{PromptTokensDetails: true, Script: sim.NewScript(sim.Line{Match: "Hi",
		Tokens: lab.Tokens("<|channel|>final<|message|>In Zürich it rains.<|return|>")})}
	m := &missing{}
	var urls [2]string
	m.one, urls[0] = lab.RunSim(t, options)
	m.two, urls[1] = lab.RunSim(t, options)
	r, err := record.New(record.Options{Tokenizer: o200k.Tokenizer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	s := httptest.NewServer(r.Handler(key))
	t.Cleanup(s.Close)
	c, err := config.Parse("missed.yaml", fmt.Appendf(nil, `
models:
  - { name: %[1]s, pool: one }
  - { name: both, pool: both, server_model: %[1]s }
pools:
  - { name: one, kind: vllm, servers: ["%[2]s"], health: { path: none } }
  - { name: both, kind: vllm, servers: ["%[2]s", "%[3]s"], policy: round_robin, health: { path: none } }
tap: { url: "%[4]s" }
`, lab.Model, urls[0], urls[1], s.URL))
	if err != nil {
		t.Fatal(err)
	}
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	m.host, m.recorder, m.events = run(t, c), r, r.Subscribe(t.Context())
	return m
}

// send sends a turn, and returns what its record says of the cache.
func (m *missing) send(t *testing.T, body string) *line.Cache {
	t.Helper()
	if a := ask(lab.HTTP1(t), m.host, lab.ResponsesPath, body, key); a.Status != 200 || a.Err != nil {
		t.Fatalf("%+v", a)
	}
	text, _ := m.recorder.Lines(waitEnded(t, m.events))
	last, err := line.Read(text[bytes.LastIndexByte(text[:len(text)-1], '\n')+1:])
	end, ok := last.(*line.End)
	if !ok || err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return end.Cache
}

// TestMissedCache: the record of a turn says what of it the server had, as the server reports, and why it had not more.
func TestMissedCache(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		m := startMissing(t, run)
		if got := m.send(t, turns(lab.Model, 1, "f")); got != nil {
			t.Errorf("the first turn is compared with %+v", got)
		}
		rewritten := strings.Replace(turns(lab.Model, 5, "g"), "Hi, 1", "Hi, 9", 1)
		for i, want := range []struct{ body, reason string }{{turns(lab.Model, 2, "f"), "none"},
			{turns(lab.Model, 3, "f"), "none"}, {turns(lab.Model, 4, "g"), "tools"}, {rewritten, "user"}} {
			got := m.send(t, want.body)
			all := lab.Completions(m.one)
			asked := all[len(all)-1]
			if got == nil || got.Reason != want.reason || got.Cached != asked.CachedTokens || got.Cached == 0 ||
				got.Cached+got.Computed != len(asked.PromptIDs) || (got.Message > 0) != (want.reason != "none") {
				t.Errorf("turn %d: %+v, the server has read %d of %d tokens from its cache", i+2, got, asked.CachedTokens,
					len(asked.PromptIDs))
			}
		}
	})
}

// TestMovedCache: the turn of a conversation that another server gets does not find the turn before. That is known as
// soon as one of the servers has reported cached tokens.
func TestMovedCache(t *testing.T) {
	t.Setenv(contract.TapKeyVariable, key)
	m := startMissing(t, lab.RunEnvoy)
	for questions := range 3 {
		got := m.send(t, turns("both", 2*questions+1, "f"))
		if questions < 2 {
			continue
		}
		var servers [2]int
		for i, s := range []*sim.Server{m.one, m.two} {
			servers[i] = len(lab.Completions(s))
		}
		if servers != [2]int{2, 1} && servers != [2]int{1, 2} {
			t.Fatalf("the servers got %v turns", servers)
		}
		last := m.one
		if servers[1] == 2 {
			last = m.two
		}
		asked := lab.Completions(last)[1]
		if got == nil || got.Reason != "another_server" || got.Cached != asked.CachedTokens || got.Cached == 0 ||
			got.Again < 300 || got.Message != 0 {
			t.Errorf("%+v, of which the server has read %d", got, asked.CachedTokens)
		}
	}
}
