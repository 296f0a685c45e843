//go:build e2e

package responses

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/service"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestStraight counts the requests that reach the service: no request does that needs no memory.
func TestStraight(t *testing.T) {
	for _, host := range []string{"envoy", "wazero"} {
		t.Run(host, func(t *testing.T) {
			var reached atomic.Int64
			other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				reached.Add(1)
				w.WriteHeader(http.StatusTeapot)
			}))
			defer other.Close()
			server, serverURL := lab.RunSim(t, sim.Options{Keep: 100, Script: answers()})
			text := fmt.Sprintf("responses_service: { url: %q, hosted_tools: false }\nmodels: [{ name: %s, servers: [%q] }]\n",
				other.URL, lab.Model, "vllm="+serverURL)
			file := lab.WriteConfig(t, text)
			program, url := lab.StartUpWith(t, nil, "--host", host, "--concurrency", "1", "--config", file)
			g := &gateway{&service.Gateway{T: t, URL: url, Client: lab.HTTP1(t), Sim: server, Schemas: grammar.LoadSchemas(t),
				Program: program}}
			straight := func() {
				t.Helper()
				before := reached.Load()
				for _, members := range []string{
					`"input":"first question","store":false`,
					`"input":"first question","store":false,"include":["reasoning.encrypted_content"]`,
					`"input":"first question","store":false,"previous_response_id":null,"conversation":null,"background":false`,
					`"input":[{"role":"user","content":"first question"},` +
						`{"type":"message","id":"msg_1","role":"assistant","content":"an answer"},` +
						`{"role":"user","content":"first question"}],"store":false,"tools":[{"type":"web_search"}]`,
				} {
					if r := g.Create(members); r.Text() != "answer one" || r.Store {
						t.Errorf("%s: %+v", members, r)
					}
					if r, _ := g.Stream(members); r.Text() != "answer one" || r.Store {
						t.Errorf("%s, streamed: %+v", members, r)
					}
				}
				g.Do("POST", "responses/input_tokens", g.Body(`"input":"first question"`), 200)
				g.Do("POST", "chat/completions", lab.ChatBody(lab.Model, "first question"), 200)
				g.Do("GET", "models", "", 200)
				if n := reached.Load() - before; n != 0 {
					t.Errorf("%d requests of the straight path reached the service", n)
				}
			}
			straight()
			// A request that needs a memory does reach it.
			for _, members := range []string{`"input":"x"`, `"input":"x","store":true`, `"input":"x","stream":true`,
				`"input":"x","store":false,"previous_response_id":"resp_1"`, `"input":"x","store":false,"conversation":"conv_1"`} {
				before := reached.Load()
				g.Do("POST", "responses", g.Body(members), http.StatusTeapot)
				if reached.Load() != before+1 {
					t.Errorf("%s did not reach the service once", members)
				}
			}
			// The straight path does not notice that there is none.
			other.Close()
			straight()
			a := g.Do("POST", "responses", g.Body(`"input":"x"`), http.StatusServiceUnavailable)
			if a.ErrorCode() == "" {
				t.Errorf("no error in the API's shape: %s", strings.TrimSpace(a.Body))
			}
		})
	}
}
