//go:build e2e

package lifecycle

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/server"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// How long changes may take to be in force, beside clients that ask all the time: half of them, and each. The Envoy starts
// VMs of the filter for most of them, on the cores that the clients and other tests use too.
const (
	halfWithin = time.Second
	eachWithin = 4 * time.Second
)

// setting is a change of the file.
type setting struct {
	// path is what the log calls it.
	path string
	// top, service, model and pool are lines that it adds to the file, to the block responses_service, to the model and to
	// the pool. pool NEW is a second pool, q. other is a second model.
	top, service, model, pool, other string
	// start reports whether it takes effect at the next start.
	start bool
	// seen asks whether a client sees it. It may be nil.
	seen func(g *gateway) bool
}

// settings are changed one by one, each beside none of the others.
var settings = []setting{
	{path: "body_limit", top: "body_limit: 1KiB", seen: refuses(413, strings.Repeat("long ", 400))},
	{path: "stall_timeout", top: "stall_timeout: 90s"},
	{path: "request_timeout", top: "request_timeout: 1m"},
	{path: "memory_limit", top: "memory_limit: 300MiB"},
	{path: "prefix_memory", top: "prefix_memory: 2MiB"},
	{path: "cache_reasons", top: "cache_reasons: 2MiB"},
	{path: "cors_origins", top: "cors_origins: ['https://app.example']", seen: func(g *gateway) bool {
		r, _ := http.NewRequest(http.MethodOptions, g.URL+chatPath, nil)
		r.Header = http.Header{"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"POST"}}
		a, err := g.Client.Do(r)
		if err != nil {
			return false
		}
		a.Body.Close()
		return a.Header.Get("Access-Control-Allow-Origin") != ""
	}},
	{path: "reasoning_ratio_alert", top: "reasoning_ratio_alert: 0.5"},
	{path: "access_log", top: "access_log: /dev/null"},
	{path: "tracing.url", top: "tracing: { url: 'http://127.0.0.1:9', share: 100% }"},
	{path: "passthrough", top: "passthrough: http://127.0.0.1:9"},
	{path: "seal.lifetime", top: "seal: { lifetime: 2h }"},
	{path: "clients.header", top: "clients: { header: x-who, required: false }"},
	{path: "clients.classes[high] is new", top: "clients: { header: x-who, required: false, classes: [{ name: high, " +
		"deadline: 9s }, { name: low }] }"},
	{path: "clients.default_class", top: "clients: { header: x-who, required: false, classes: [{ name: high }, " +
		"{ name: low }], default_class: low }"},
	{path: "models[MODEL].route", model: "route: [{ pool: q, max_prompt: 1 }]", pool: "NEW"},
	{path: "models[MODEL].overflow_model", model: "context_length: 2000, overflow_model: large",
		other: "{ name: large, pool: p, server_model: " + lab.Model + " }",
		seen:  refuses(200, strings.Repeat("long ", 4000))},
	{path: "models[MODEL].system.date", model: "system: { date: omit }"},
	{path: "models[MODEL].aliases", model: "aliases: [gpt-4o]", seen: func(g *gateway) bool {
		return lab.Ask(g.Client, g.URL+chatPath, lab.ChatBody("gpt-4o", "Hi")).Status == 200
	}},
	{path: "models[MODEL].context_length", model: "context_length: 2000", seen: refuses(400, strings.Repeat("long ",
		4000))},
	{path: "models[MODEL].max_reasoning_tokens", model: "max_reasoning_tokens: 9"},
	{path: "models[MODEL].repetition_detection.reasoning", model: "repetition_detection: { reasoning: end }"},
	{path: "models[MODEL].relay", model: "relay: retry"},
	{path: "models[MODEL].keep_alive", model: "relay: retry, keep_alive: 15s"},
	{path: "models[MODEL].answers.hide_reasoning", model: "answers: { hide_reasoning: true }",
		seen: func(g *gateway) bool {
			return !strings.Contains(lab.Ask(g.Client, g.URL+chatPath, lab.ChatBody(lab.Model, "Hi")).Body, "a thought")
		}},
	{path: "models[MODEL].system.effort", model: "system: { effort: high }", seen: prompts("Reasoning: high")},
	{path: "models[MODEL].sampling_overrides", model: "sampling_overrides: { temperature: 0.5 }"},
	{path: "pools[p].policy", pool: "policy: round_robin"},
	{path: "pools[p].health.interval", pool: "health: { interval: 2s }"},
	{path: "pools[p].retry_until", pool: "retry_until: headers"},
	{path: "pools[p].slow_start", pool: "slow_start: 10s"},
	{path: "pools[p].retry_busy", pool: "NEW, spares: [q], retry_busy: true"},
	{path: "pools[p].tries", pool: "tries: 5"},
	{path: "pools[p].queue.max_requests", pool: "policy: picker, capacity: 64, picker: { url: 'http://127.0.0.1:9' }, " +
		"queue: { max_requests: 5 }"},
	{path: "pools[p].spares", pool: "NEW, spares: [q]"},
	{path: "pools[q] is new", pool: "NEW"},
	{path: "responses_service.retention", service: "retention: 48h"},
	{path: "responses_service.event_retention", service: "event_retention: 2h"},
	{path: "responses_service.background", service: "background: 3"},
	{path: "responses_service.max_requests", service: "max_requests: 99"},
	{path: "responses_service.memory_limit", service: "memory_limit: 512MiB"},
	{path: "responses_service.persist.reasoning", service: "persist: { reasoning: never }"},
	{path: "responses_service.tools.rounds", service: "tools: { rounds: 3 }"},
	{path: "responses_service.tools.tool_search", service: "tools: { tool_search: bm25 }"},
	{path: "responses_service.websocket", service: "websocket: false"},
	{path: "responses_service.messages", service: "messages: false"},
	{path: "responses_service.store", service: "store: /elsewhere/r.db", start: true},
	{path: "responses_service.max_connections", service: "max_connections: 3", start: true},
	{path: "responses_service.access_log", service: "access_log: /dev/null", start: true},
}

const chatPath = "/v1/chat/completions"

func refuses(status int, text string) func(g *gateway) bool {
	return func(g *gateway) bool {
		return lab.Ask(g.Client, g.URL+chatPath, lab.ChatBody(lab.Model, text)).Status == status
	}
}

// prompts asks whether the model is told a text.
func prompts(text string) func(g *gateway) bool {
	return func(g *gateway) bool {
		lab.Ask(g.Client, g.URL+chatPath, lab.ChatBody(lab.Model, "Hi"))
		all := lab.Completions(g.Sim)
		return strings.Contains(lab.Vocabulary.DecodeString(all[len(all)-1].PromptIDs), text)
	}
}

// TestSettings changes each of the settings in a running control plane, beside clients that ask all the time, and takes
// it back. Each is in force soon, or its refusal says that it takes effect at the next start. No request fails.
func TestSettings(t *testing.T) {
	script := sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens("<|channel|>analysis<|message|>a thought<|end|>" +
		"<|start|>assistant<|channel|>final<|message|>Well.<|return|>")})
	s, model := lab.RunSim(t, sim.Options{Script: script, Keep: 50, TokensPerSecond: 100})
	store, listen := filepath.Join(t.TempDir(), "r.db"), lab.FreeAddress(t)
	text := func(c *setting) string {
		service := "store: " + store
		if c.start && strings.HasPrefix(c.service, "store:") {
			service = c.service
		} else if c.service != "" {
			service += ", " + c.service
		}
		more := ""
		pool, isNew := strings.CutPrefix(c.pool, "NEW")
		if pool = strings.TrimPrefix(pool, ", "); isNew {
			more = "  - { name: q, kind: vllm, servers: ['http://127.0.0.1:9'] }\n"
		}
		other := ""
		if c.other != "" {
			other = "  - " + c.other + "\n"
		}
		with := func(line string) string {
			if line == "" {
				return ""
			}
			return ", " + line
		}
		return fmt.Sprintf("%s\nresponses_service: { listen: %q, %s }\nmodels:\n  - { name: %s, pool: p%s }\n%s"+
			"pools:\n  - { name: p, kind: vllm, servers: [%q]%s }\n%s", c.top, listen, service, lab.Model, with(c.model),
			other, model, with(pool), more)
	}
	none := &setting{}
	g := plane(t, text(none))
	g.Sim = s
	chat := begin(g, chatPath, lab.ChatBody(lab.Model, "Hi"))
	responses := begin(g, "/v1/responses", g.Body(`"input":"Hi"`))
	var live []time.Duration
	start := 0
	for i := range settings {
		c := &settings[i]
		path := strings.ReplaceAll(c.path, "MODEL", lab.Model)
		before := g.ask()
		g.replace(text(c))
		if c.start {
			want := path + ": takes effect at the next start"
			g.await("refused: "+path, func(s *server.Status) bool { return strings.Contains(s.Configuration.Error, want) })
			start++
		} else {
			took := g.await("in force: "+path, func(s *server.Status) bool {
				return s.Configuration.Loaded.After(before.Configuration.Loaded) && current(s)
			})
			live = append(live, took)
			if took > eachWithin {
				t.Errorf("%s is in force after %v", path, took)
			}
			if c.seen != nil {
				g.until("a client sees "+path, func() bool { return c.seen(g) })
			}
		}
		if !c.start {
			g.until("the log names "+path, func() bool { return strings.Contains(g.Program.Stderr.String(), path) })
		}
		loaded := g.ask().Configuration.Loaded
		g.replace(text(none))
		g.await("taken back: "+path, func(s *server.Status) bool {
			return s.Configuration.Error == "" && s.Configuration.Loaded.After(loaded) && current(s)
		})
	}
	chat.end(t)
	responses.end(t)
	slices.Sort(live)
	half, slowest := live[len(live)/2], live[len(live)-1]
	if half > halfWithin {
		t.Errorf("half of the settings are in force after %v", half)
	}
	t.Logf("%d settings are live, half of them after %v and the slowest after %v; %d take effect at the next start",
		len(live), half, slowest, start)
}

// current reports whether every Envoy has all that it should have.
func current(s *server.Status) bool {
	for i := range s.Envoys {
		if !s.Envoys[i].Current {
			return false
		}
	}
	return len(s.Envoys) > 0
}
