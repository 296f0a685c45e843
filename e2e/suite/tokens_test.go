//go:build e2e

package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestCountedTokens compares the count and the tokens that the gateway returns for every request of the suite with
// the prompt that it sends, which the suite compares with openai-harmony's.
func TestCountedTokens(t *testing.T) {
	seen := 0
	for _, c := range cases.All(t) {
		path := map[string]string{lab.ChatPath: "/tokenize", lab.ResponsesPath: "/v1/responses/input_tokens"}[c.Target]
		if path == "" || c.Method != http.MethodPost {
			continue
		}
		config, err := c.Config("http://127.0.0.1:9")
		if err != nil {
			t.Fatal(err)
		}
		g := exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary})
		action, _ := c.Begin(g)
		if action.Forward == nil {
			continue
		}
		var sent struct{ Prompt []uint32 }
		if err := json.Unmarshal(action.Forward.Body, &sent); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		asked := g.Begin(http.MethodPost, path)
		reply := asked.Request(bytes.Clone(c.Body), exchange.Host{Now: 1_000_000, ID: strings.Repeat("0123456789", 4)}).Reply
		if reply == nil {
			t.Fatalf("%s: a server is asked", c.Name)
		}
		var told struct {
			Tokens      []uint32
			InputTokens int `json:"input_tokens"`
		}
		if err := json.Unmarshal(reply.Body, &told); err != nil || reply.Status != 200 {
			t.Fatalf("%s: %d %s", c.Name, reply.Status, reply.Body)
		}
		if path == "/tokenize" && !slices.Equal(told.Tokens, sent.Prompt) ||
			path != "/tokenize" && told.InputTokens != len(sent.Prompt) {
			t.Errorf("%s: %s of a prompt of %d tokens", c.Name, reply.Body, len(sent.Prompt))
		}
		seen++
	}
	if seen < 100 {
		t.Errorf("%d requests were counted", seen)
	}
}

// TestModelsOfOthers has a server for all other models. On every host its list follows ours, and it counts the tokens
// of its own models.
func TestModelsOfOthers(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{})
	_, otherURL := lab.RunSim(t, sim.Options{AnyPrompt: true, Models: []string{"other", lab.Model}})
	c := lab.OneModel(url)
	c.Passthrough = otherURL
	for _, host := range []*hosts.Host{lab.RunNative(t, c), lab.RunWazero(t, c), lab.RunEnvoy(t, c)} {
		client := lab.HTTP1(t)
		var list struct {
			Data []struct{ ID, OwnedBy string }
		}
		a := lab.Do(client, http.MethodGet, host.URL+"/v1/models", http.Header{"Accept-Encoding": {"gzip"}}, nil)
		if err := json.Unmarshal([]byte(a.Body), &list); err != nil || a.Status != 200 {
			t.Fatalf("%s: %+v", host.Name, a)
		}
		if got := fmt.Sprint(list.Data); got != "[{"+lab.Model+" } {other }]" {
			t.Errorf("%s: %s", host.Name, got)
		}
		if a := lab.Do(client, http.MethodGet, host.URL+"/v1/models/"+lab.Model, nil, nil); a.Status != 200 ||
			!strings.Contains(a.Body, "harmony-edge") {
			t.Errorf("%s: %+v", host.Name, a)
		}
		// The simulated server has the one path, as vLLM does, and answers the other with its own error.
		a = lab.Do(client, http.MethodPost, host.URL+"/tokenize", nil, strings.NewReader(`{"model":"other","prompt":"Hi"}`))
		if a.Status != 200 || !strings.Contains(a.Body, `"tokens":[12194]`) {
			t.Errorf("%s: /tokenize: %+v", host.Name, a)
		}
		a = lab.Do(client, http.MethodPost, host.URL+"/v1/responses/input_tokens", nil,
			strings.NewReader(`{"model":"other","input":"Hi"}`))
		if a.Status != 404 || strings.Contains(a.Body, "model_not_found") {
			t.Errorf("%s: /v1/responses/input_tokens: %+v", host.Name, a)
		}
	}
}
