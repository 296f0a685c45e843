//go:build e2e

package prefill

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// rendering returns a configuration whose pool writers has its conversations rendered by the pool renderers, if there
// is one.
func rendering(writers, renderers string) *config.Config {
	c := config.Default()
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	c.StallTimeout = config.Duration(20 * time.Second)
	m := config.DefaultModel(lab.Model)
	m.Pool = "writers"
	c.Models = []config.Model{m}
	unchecked := config.Health{Path: config.NoHealthChecks}
	c.Pools = []config.Pool{{Name: "writers", Kind: contract.VLLMRender, Servers: []string{writers}, Health: unchecked}}
	if renderers != "" {
		c.Pools[0].Render = "renderers"
		c.Pools = append(c.Pools, config.Pool{Name: "renderers", Kind: contract.VLLMRender, Servers: []string{renderers},
			Health: unchecked})
	}
	return c
}

// TestRendered: each conversation is rendered once, by the servers that do, and the engine gets the very ids. Clients
// see an ordinary answer, with the count of them.
func TestRendered(t *testing.T) {
	const messages = `{"model":"` + lab.Model + `","max_tokens":100,"messages":[{"role":"user","content":"Hi"}]}`
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		for _, apart := range []bool{false, true} {
			o := sim.Options{Kind: contract.VLLMRender, Models: []string{lab.Model},
				Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(lab.SixWords)})}
			writer, url := lab.RunSim(t, o)
			renderer, renderers := writer, ""
			if apart {
				renderer, renderers = lab.RunSim(t, o)
			}
			h := run(t, rendering(url, renderers))
			asked := 0
			for path, body := range map[string]string{lab.ChatPath: lab.ChatBody(lab.Model, "Hi"),
				lab.ResponsesPath: lab.ResponsesBody(lab.Model, "Hi"), contract.MessagesPath: messages} {
				for _, body := range []string{body, `{"stream":true,` + body[1:]} {
					a := lab.Ask(lab.HTTP1(t), h.URL+path, body)
					if a.Err != nil || a.Status != http.StatusOK || !strings.Contains(a.Body, "six") ||
						strings.Contains(a.Body, "<|") {
						t.Errorf("%s: %+v", body, a)
					}
					asked++
				}
			}
			rendered, generated := renders(renderer), []sim.Request(nil)
			for _, q := range writer.Requests() {
				if q.Path == contract.InferenceGeneratePath {
					generated = append(generated, q)
				}
			}
			if len(rendered) != asked || len(generated) != asked {
				t.Fatalf("apart %v: %d conversations were rendered, %d answers written", apart, len(rendered), len(generated))
			}
			for i, q := range generated {
				var sent struct {
					IDs []uint32 `json:"token_ids"`
				}
				if json.Unmarshal(q.Body, &sent) != nil || !slices.Equal(sent.IDs, q.PromptIDs) || len(sent.IDs) == 0 ||
					q.Header.Get("x-request-id") != rendered[i].Header.Get("x-request-id") ||
					rendered[i].Header.Get("authorization") != "" {
					t.Errorf("apart %v: the engine gets %s", apart, q.Body)
				}
			}
		}
	})
}

// TestRenderUnreachable: without a server that renders, nothing reaches the engine, and the client's error is typed.
func TestRenderUnreachable(t *testing.T) {
	lab.OnProxies(t, func(t *testing.T, run lab.RunProxy) {
		writer, url := lab.RunSim(t, sim.Options{Kind: contract.VLLMRender, Models: []string{lab.Model}})
		h := run(t, rendering(url, "http://127.0.0.1:9"))
		lab.WantRefused(t, lab.Ask(lab.HTTP1(t), h.URL+lab.ChatPath, lab.ChatBody(lab.Model, "Hi")),
			http.StatusServiceUnavailable, contract.CodeServerUnavailable)
		if all := completions([]*sim.Server{writer}); len(all) > 0 {
			t.Errorf("the engine gets %d requests", len(all))
		}
		other, url := lab.RunSim(t, sim.Options{Kind: contract.VLLMRender, Models: []string{"another"}})
		h = run(t, rendering(url, ""))
		lab.WantRefused(t, lab.Ask(lab.HTTP1(t), h.URL+lab.ChatPath, lab.ChatBody(lab.Model, "Hi")),
			http.StatusBadGateway, contract.CodeServerModelNotFound)
		if all := completions([]*sim.Server{other}); len(all) > 0 {
			t.Errorf("another engine gets %d requests", len(all))
		}
	})
}

// TestRenderChanges: a running Envoy whose control plane gets another render for a pool asks the new servers from then
// on, and the pool's own when it has none.
func TestRenderChanges(t *testing.T) {
	o := sim.Options{Kind: contract.VLLMRender, Models: []string{lab.Model},
		Script: sim.NewScript(sim.Line{Match: "Hi", Tokens: lab.Tokens(lab.SixWords)})}
	writer, url := lab.RunSim(t, o)
	first, firstURL := lab.RunSim(t, o)
	second, secondURL := lab.RunSim(t, o)
	h := lab.RunEnvoyOverADS(t, rendering(url, firstURL))
	for _, tt := range []struct {
		renderers string
		renders   *sim.Server
	}{{firstURL, first}, {secondURL, second}, {"", writer}} {
		if err := h.Update(lab.Resources(t, rendering(url, tt.renderers))); err != nil {
			t.Fatal(err)
		}
		counts := map[*sim.Server]int{}
		for _, s := range []*sim.Server{writer, first, second} {
			counts[s] = len(renders(s))
		}
		if a := lab.Ask(lab.HTTP1(t), h.URL+lab.ChatPath, lab.ChatBody(lab.Model, "Hi")); a.Err != nil ||
			a.Status != http.StatusOK || !strings.Contains(a.Body, "six") {
			t.Fatalf("rendered by %q: %+v", tt.renderers, a)
		}
		for s, before := range counts {
			if got := len(renders(s)) - before; got > 0 != (s == tt.renders) {
				t.Errorf("rendered by %q: a server was asked to render %d times", tt.renderers, got)
			}
		}
	}
}

// TestSpellingsChange: a running Envoy that gets other control_spellings for a model refuses the new ones, and lets
// the earlier ones pass.
func TestSpellingsChange(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{Kind: contract.VLLMRender, Models: []string{lab.Model},
		Script: sim.NewScript(sim.Line{Tokens: lab.Tokens(lab.SixWords)})})
	spelling := func(text string) *config.Config {
		c := rendering(url, "")
		c.Models[0].ControlSpellings = []string{text}
		return c
	}
	h := lab.RunEnvoyOverADS(t, spelling("<first>"))
	for _, tt := range [][2]string{{"<first>", "<second>"}, {"<second>", "<first>"}} {
		if err := h.Update(lab.Resources(t, spelling(tt[0]))); err != nil {
			t.Fatal(err)
		}
		for i, want := range []int{http.StatusBadRequest, http.StatusOK} {
			a := lab.Ask(lab.HTTP1(t), h.URL+lab.ChatPath, lab.ChatBody(lab.Model, "Hi "+tt[i]))
			if a.Err != nil || a.Status != want {
				t.Errorf("control_spellings of %s, a text with %s: %+v", tt[0], tt[i], a)
			}
		}
	}
}

// renders returns the requests that asked a server to render a conversation.
func renders(s *sim.Server) (out []sim.Request) {
	for _, q := range s.Requests() {
		if q.Path == contract.RenderPath {
			out = append(out, q)
		}
	}
	return out
}
