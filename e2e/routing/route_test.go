//go:build e2e

package routing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// twoPools returns a configuration with a model of two pools: near gets prompts of at most 70 tokens, and far all
// others.
func twoPools(near, far string) *config.Config {
	c := lab.OneModel("http://127.0.0.1:1")
	m := &c.Models[0]
	m.Servers, m.Pool = nil, "far"
	m.Rules = []config.Rule{{Pool: "near", MaxPrompt: 70}}
	for name, url := range map[string]string{"near": near, "far": far} {
		c.Pools = append(c.Pools, config.Pool{Name: name, Servers: []string{url},
			Health: config.Health{Path: config.NoHealthChecks}})
	}
	return c
}

// pool returns the pool of a name.
func pool(c *config.Config, name string) *config.Pool {
	for i := range c.Pools {
		if c.Pools[i].Name == name {
			return &c.Pools[i]
		}
	}
	return nil
}

// chatOf is a request whose prompt has so many tokens, of which the shortest has 68.
func chatOf(tokens int) string {
	return lab.ChatBody(lab.Model, "Hi"+strings.Repeat(" one", tokens-68))
}

func sendChat(t *testing.T, host *hosts.Host, body string) lab.Answer {
	t.Helper()
	return lab.Do(lab.HTTP1(t), http.MethodPost, host.URL+lab.ChatPath, http.Header{}, strings.NewReader(body))
}

// logged returns the fields of the lines of an access log, once there are so many.
func logged(t *testing.T, file string, lines int) []map[string]any {
	t.Helper()
	for end := time.Now().Add(lab.Patience); time.Now().Before(end); time.Sleep(lab.Pause) { // a timer flushes it
		data, _ := os.ReadFile(file)
		if bytes.Count(data, []byte("\n")) < lines {
			continue
		}
		var all []map[string]any
		for line := range bytes.Lines(data) {
			var fields map[string]any
			if err := json.Unmarshal(line, &fields); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			all = append(all, fields)
		}
		return all
	}
	t.Fatalf("the access log has not %d lines", lines)
	return nil
}

// TestChoiceByLength: each prompt comes to the servers of its pool, on Envoy and under wazero, and nothing that a
// client sends changes that. The log says which pool it was, and why.
func TestChoiceByLength(t *testing.T) {
	for name, start := range map[string]func(*testing.T, *config.Config, ...lab.Change) *hosts.Host{
		"envoy":  lab.RunEnvoy,
		"wazero": lab.RunWazero,
	} {
		t.Run(name, func(t *testing.T) {
			near, nearURL := lab.RunSim(t, sim.Options{})
			far, farURL := lab.RunSim(t, sim.Options{})
			c := twoPools(nearURL, farURL)
			c.AccessLog = filepath.Join(t.TempDir(), "access.log")
			host := start(t, c)
			for _, tt := range []struct {
				tokens    int
				near, far int
				route     string
			}{
				{70, 1, 0, "near;why=length"}, {71, 1, 1, "far;why=length"}, {68, 2, 1, "near;why=length"},
			} {
				header := http.Header{"X-Harmony-Route": {"far;why=class"}, "X-Harmony-Internal-Pool": {"gpt-oss-120b to near"},
					"X-Harmony-Internal-Client": {"somebody"}}
				a := lab.Do(lab.HTTP1(t), http.MethodPost, host.URL+lab.ChatPath, header, strings.NewReader(chatOf(tt.tokens)))
				if a.Status != 200 || a.Header.Get(contract.RouteHeader) != tt.route {
					t.Errorf("%d tokens: got %d, %q, want %q", tt.tokens, a.Status, a.Header.Get(contract.RouteHeader), tt.route)
				}
				if n := servedBy([]*sim.Server{near, far}); n[0] != tt.near || n[1] != tt.far {
					t.Errorf("%d tokens: the servers have had %v requests, want %d and %d", tt.tokens, n, tt.near, tt.far)
				}
			}
			for i, line := range logged(t, c.AccessLog, 3) {
				want := []string{"near", "far", "near"}[i]
				if line["pool"] != want || line["route"] != want+";why=length" || line["spare"] != nil {
					t.Errorf("line %d: pool %v, route %v, spare %v", i, line["pool"], line["route"], line["spare"])
				}
			}
		})
	}
}

// TestBusyPool: what a pool does not take goes to its spare, and the answer and the log say so.
func TestBusyPool(t *testing.T) {
	for _, tt := range []struct {
		name, far         string
		status            int
		retryBusy         bool
		tries             int
		want, asked, then int // the client's status, and the requests that the servers of both pools get
	}{
		{"503", "", 503, false, 1, 200, 1, 1},
		{"429", "", 429, true, 1, 200, 1, 1},
		{"429 is the client's", "", 429, false, 1, 429, 1, 0},
		{"two tries", "", 429, true, 2, 200, 2, 1},
		{"both are busy", "status:429:9", 429, true, 2, 429, 2, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			near, nearURL := lab.RunSim(t, sim.Options{Fault: faultOf(t, fmt.Sprintf("status:%d:7", tt.status))})
			far, farURL := lab.RunSim(t, sim.Options{Fault: faultOf(t, tt.far)})
			c := twoPools(nearURL, farURL)
			c.AccessLog = filepath.Join(t.TempDir(), "access.log")
			p := pool(c, "near")
			p.Spares, p.RetryBusy, p.Tries = []string{"far"}, tt.retryBusy, tt.tries
			host := lab.RunEnvoy(t, c)
			a := sendChat(t, host, chatOf(70))
			route, spare := "near;why=length", any(nil)
			if tt.then > 0 {
				route, spare = route+";spare=far", "far"
			}
			if a.Status != tt.want || a.Header.Get(contract.RouteHeader) != route {
				t.Errorf("got %d, %q, want %d, %q", a.Status, a.Header.Get(contract.RouteHeader), tt.want, route)
			}
			if n := servedBy([]*sim.Server{near, far}); n[0] != tt.asked || n[1] != tt.then {
				t.Errorf("the servers got %v requests, want %d and %d", n, tt.asked, tt.then)
			}
			line := logged(t, c.AccessLog, 1)[0]
			if line["pool"] != "near" || line["route"] != route || line["spare"] != spare {
				t.Errorf("pool %v, route %v, spare %v", line["pool"], line["route"], line["spare"])
			}
		})
	}
}

func faultOf(t *testing.T, text string) sim.Fault {
	t.Helper()
	if text == "" {
		return sim.Fault{}
	}
	f, err := sim.ParseFault(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestOverflow: what does not fit a model goes to another one's servers, of another kind.
func TestOverflow(t *testing.T) {
	for name, start := range map[string]func(*testing.T, *config.Config, ...lab.Change) *hosts.Host{
		"envoy":  lab.RunEnvoy,
		"wazero": lab.RunWazero,
	} {
		t.Run(name, func(t *testing.T) {
			small, smallURL := lab.RunSim(t, sim.Options{})
			large, largeURL := lab.RunSim(t, sim.Options{Kind: contract.Chat, Models: []string{"qwen"}})
			c := lab.OneModel(smallURL)
			c.Models[0].ContextLength, c.Models[0].OverflowModel = 80, "qwen"
			c.Models = append(c.Models, config.DefaultModel("qwen", "chat="+largeURL))
			host := start(t, c)
			if a := sendChat(t, host, chatOf(79)); a.Status != 200 || a.Header.Get(contract.RouteHeader) != "" {
				t.Errorf("got %d, %q", a.Status, a.Header.Get(contract.RouteHeader))
			}
			a := sendChat(t, host, chatOf(80))
			if a.Status != 200 || a.Header.Get(contract.RouteHeader) != "qwen;why=context;model=qwen" ||
				!strings.Contains(a.Body, `"model":"`+lab.Model+`"`) {
				t.Errorf("got %d, %q: %s", a.Status, a.Header.Get(contract.RouteHeader), a.Body)
			}
			if got := len(lab.Completions(small)); got != 1 {
				t.Errorf("the small model's server got %d requests", got)
			}
			if got := len(large.Requests()); got != 1 {
				t.Errorf("the other model's server got %d requests", got)
			}
		})
	}
}
