package xds

import (
	"slices"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestPathsOfKinds checks the routes for kinds of servers whose paths are not the API's.
func TestPathsOfKinds(t *testing.T) {
	pool := func(kind, apiPath string) config.ResolvedPool {
		return config.ResolvedPool{Pool: config.Pool{Kind: kind}, APIPath: apiPath}
	}
	pools := []config.ResolvedPool{pool(contract.SGLang, "/v1"), pool(contract.VLLM, "/v1"),
		pool(contract.Chat, "/openai/v1"), pool(contract.VLLMGenerate, "/v1"), pool(contract.SGLang, "/v1")}
	want := []string{contract.GeneratePath, "/openai/v1/chat/completions", "/openai/tokenize", "/openai/detokenize",
		contract.InferenceGeneratePath}
	if got := pathsBesideAPI(pools); !slices.Equal(got, want) {
		t.Errorf("the paths beside the API's are %v", got)
	}
	rest := claimed(exactPath(contract.GeneratePath))
	if rest.GetPath() != contract.GeneratePath || len(rest.Headers) != 1 || !rest.Headers[0].GetPresentMatch() {
		t.Errorf("the route of other claimed requests matches %v", rest)
	}
}

// TestRoutesOfConversations checks the routes to servers that take conversations, also where their API has another
// path.
func TestRoutesOfConversations(t *testing.T) {
	c, err := config.Parse("h.yaml", []byte(`
models:
  - {name: plain, servers: ["chat=http://127.0.0.1:1"]}
  - {name: hosted, pool: hosted, server_model: qwen/qwen3-32b}
pools: [{name: hosted, kind: chat, servers: ["https://api.example.com/openai/v1/"]}]`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := build(c, Options{ModulePath: "/f.wasm", CAFile: "/ca.pem"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := r.ConnectionManager()
	if err != nil {
		t.Fatal(err)
	}
	type place struct{ path, model, cluster string }
	var got []place
	for _, route := range m.GetRouteConfig().VirtualHosts[0].Routes {
		if h := route.GetMatch().GetHeaders(); len(h) == 1 && h[0].GetName() == contract.PoolHeader && !h[0].GetPresentMatch() {
			got = append(got, place{route.GetMatch().GetPath(), h[0].GetStringMatch().GetExact(), route.GetRoute().GetCluster()})
			if !slices.Contains(route.RequestHeadersToRemove, "authorization") {
				t.Errorf("%s keeps a client's key", route.GetName())
			}
		}
	}
	want := []place{
		{"/v1/chat/completions", "plain", poolPrefix + "plain"}, {"/tokenize", "plain", poolPrefix + "plain"},
		{"/detokenize", "plain", poolPrefix + "plain"},
		{"/openai/v1/chat/completions", "hosted", poolPrefix + "hosted"}, {"/openai/tokenize", "hosted", poolPrefix + "hosted"},
		{"/openai/detokenize", "hosted", poolPrefix + "hosted"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// TestServiceIdleTimeout: a response whose tools run may say nothing for as long as they may take.
func TestServiceIdleTimeout(t *testing.T) {
	for _, tt := range []struct {
		tools config.Tools
		want  time.Duration
	}{
		{config.Tools{}, 90 * time.Second},
		{config.Tools{Allow: []string{"*"}}, 90*time.Second + config.DefaultToolTime},
		{config.Tools{Allow: []string{"*"}, Time: config.Duration(time.Hour)}, 90*time.Second + time.Hour},
	} {
		c := example()
		c.StallTimeout = config.Duration(time.Minute)
		c.ResponsesService.Store, c.ResponsesService.Tools = "responses.db", tt.tools
		r, err := build(c, testOptions)
		if err != nil {
			t.Fatal(err)
		}
		m, err := r.ConnectionManager()
		if err != nil {
			t.Fatal(err)
		}
		for _, route := range m.GetRouteConfig().VirtualHosts[0].Routes {
			if got := route.GetRoute().GetIdleTimeout().AsDuration(); route.Name == "responses service" && got != tt.want {
				t.Errorf("%+v: %v, want %v", tt.tools, got, tt.want)
			}
		}
	}
}
