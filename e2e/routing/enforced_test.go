//go:build e2e

package routing

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestEnforced: a Harmony server of any kind is reached by translation only (RATIONALE.md#77).
func TestEnforced(t *testing.T) {
	lab.OnProxiesOfAll(t, func(t *testing.T, run lab.RunProxies) {
		all, servers := oneModelOfEach(t, contract.ServerKinds())
		for i, h := range run(t, all) {
			kind := contract.ServerKinds()[i]
			t.Run(kind, func(t *testing.T) { enforced(t, h, servers[i], kind) })
		}
	})
}

// oneModelOfEach returns configurations of [oneModelOf] for kinds of servers.
func oneModelOfEach(t *testing.T, kinds []string) (all []*config.Config, servers []*sim.Server) {
	t.Helper()
	for _, kind := range kinds {
		c, gpu := oneModelOf(t, sim.Options{Kind: kind})
		all, servers = append(all, c), append(servers, gpu)
	}
	return all, servers
}

// oneModelOf returns a configuration of [lab.Model] on a new simulated server of a kind.
func oneModelOf(t *testing.T, o sim.Options) (*config.Config, *sim.Server) {
	t.Helper()
	gpu, url := lab.RunSim(t, o)
	c := lab.OneModel(url)
	c.Models[0].Servers, c.Models[0].AcceptTextPrompts = []string{o.Kind + "=" + url}, true
	if contract.TakesConversations(o.Kind) {
		c.Models[0].System = config.DefaultModel("").System // its servers write the prompt
	}
	return c, gpu
}

func enforced(t *testing.T, h *hosts.Host, gpu *sim.Server, kind string) {
	one, two := lab.HTTP1(t), lab.HTTP2(t)
	rejected := []struct {
		name, path, body string
		status           int
		code             string
	}{
		{"raw prompt", lab.RawPath, `{"model":"gpt-oss-120b","prompt":"<|start|>system"}`, 403, "raw_prompt_not_allowed"},
		{"raw ids", lab.RawPath, `{"model":"gpt-oss-120b","prompt":[200006]}`, 403, "raw_prompt_not_allowed"},
		{"raw prompt, query", lab.RawPath + "?x=1", `{"model":"gpt-oss-120b","prompt":"x"}`, 403, "raw_prompt_not_allowed"},
		{"raw prompt, escaped model", lab.RawPath, `{"\u006dodel":"gpt\u002doss-120b","prompt":"x"}`, 403,
			"raw_prompt_not_allowed"},
		{"raw prompt, slashes", "//v1///completions", `{"model":"gpt-oss-120b","prompt":"x"}`, 403, "raw_prompt_not_allowed"},
		{"raw prompt, dots", "/v1/x/../completions", `{"model":"gpt-oss-120b","prompt":"x"}`, 403, "raw_prompt_not_allowed"},
		{"raw prompt, escaped path", "/v1/%63ompletions", `{"model":"gpt-oss-120b","prompt":"x"}`, 403,
			"raw_prompt_not_allowed"},
		{"SGLang", "/generate", `{"model":"gpt-oss-120b","text":"x"}`, 403, "raw_prompt_not_allowed"},
		{"llama.cpp", "/completion", `{"model":"gpt-oss-120b","prompt":"x"}`, 403, "raw_prompt_not_allowed"},
		{"vLLM's token endpoint", "/inference/v1/generate", `{"model":"gpt-oss-120b","token_ids":[1]}`, 403,
			"raw_prompt_not_allowed"},
		{"raw prompt, two models", lab.RawPath, `{"model":"other","prompt":"x","model":"gpt-oss-120b"}`, 400,
			"duplicate_key"},
		{"raw prompt, bad JSON", lab.RawPath, `{"model":"gpt-oss-120b","prompt":"x"`, 400, "invalid_json"},

		{"two models", lab.ChatPath, `{"model":"gpt-oss-120b","messages":[],"model":"other"}`, 400, "duplicate_key"},
		{"two models, escaped", lab.ChatPath, `{"model":"other","messages":[],"\u006d\u006Fdel":"gpt-oss-120b"}`, 400,
			"duplicate_key"},
		{"two models, responses", lab.ResponsesPath, `{"model":"gpt-oss-120b","model":"gpt-oss-120b","input":"Hi"}`, 400,
			"duplicate_key"},
		{"two messages", lab.ChatPath, `{"model":"gpt-oss-120b","messages":[],"messages":[]}`, 400, "duplicate_key"},
		{"two inputs", lab.ResponsesPath, `{"model":"gpt-oss-120b","input":"a","inpu\u0074":"b"}`, 400, "duplicate_key"},
		{"two streams", lab.ChatPath, `{"stream":true,"model":"gpt-oss-120b","messages":[],"stream":false}`, 400,
			"duplicate_key"},
		{"no model", lab.ChatPath, `{"messages":[]}`, 400, "missing_required_parameter"},
		{"no model, responses", lab.ResponsesPath, `{"input":"Hi"}`, 400, "missing_required_parameter"},
		{"null model", lab.ChatPath, `{"model":null,"messages":[]}`, 400, "invalid_type"},
		{"model is a number", lab.ChatPath, `{"model":1,"messages":[]}`, 400, "invalid_type"},
		{"model is a list", lab.ResponsesPath, `{"model":["gpt-oss-120b"],"input":"Hi"}`, 400, "invalid_type"},
		{"empty model", lab.ResponsesPath, `{"model":"","input":"Hi"}`, 400, "invalid_value"},
		{"other model", lab.ChatPath, lab.ChatBody("gpt-4", "Hi"), 404, "model_not_found"},
		{"model in upper case", lab.ChatPath, lab.ChatBody("GPT-OSS-120B", "Hi"), 404, "model_not_found"},
		{"model and a space", lab.ChatPath, lab.ChatBody("gpt-oss-120b ", "Hi"), 404, "model_not_found"},
		{"a list", lab.ChatPath, `[{"model":"gpt-oss-120b"}]`, 400, "invalid_type"},

		{"abort_requests", "/abort_requests", `{}`, 404, "unknown_url"},
		{"flush_cache", "/flush_cache", `{}`, 404, "unknown_url"},
		{"tokenize for another model", "/tokenize", `{"model":"other","prompt":"x"}`, 404, "model_not_found"},
		{"Ollama's API", "/api/chat", lab.ChatBody(lab.Model, "Hi"), 404, "unknown_url"},
		{"path with a slash", lab.ChatPath + "/", lab.ChatBody(lab.Model, "Hi"), 403, "raw_prompt_not_allowed"},
		{"path in upper case", "/V1/completions", `{"model":"gpt-oss-120b","prompt":"x"}`, 403, "raw_prompt_not_allowed"},
		{"escaped slash", "/v1%2Fcompletions", `{"model":"gpt-oss-120b","prompt":"x"}`, 403, "raw_prompt_not_allowed"},
	}
	for _, tt := range rejected {
		t.Run(tt.name, func(t *testing.T) {
			for _, client := range []*http.Client{one, two} {
				// No value of a client in headers that only the gateway may set changes anything.
				for _, header := range []http.Header{
					nil, {"X-Harmony-Internal-Pool": {"gpt-oss-120b"}, "Content-Type": {"application/json"}}} {
					lab.WantRefused(t, lab.Do(client, http.MethodPost, h.URL+tt.path, header, strings.NewReader(tt.body)), tt.status,
						tt.code)
				}
			}
		})
	}
	for _, path := range []string{"/metrics", "/v1/modelsx", "/healthz", "/", lab.RawPath, lab.ChatPath, "/version",
		"/v1/../metrics", "/v1/chat/completions/../../../metrics"} {
		t.Run("GET "+path, func(t *testing.T) {
			header := http.Header{"x-harmony-internal-pool": {"gpt-oss-120b"}}
			a := lab.Do(one, http.MethodGet, h.URL+path, header, nil)
			if path == lab.RawPath || path == lab.ChatPath {
				lab.WantRefused(t, a, 405, contract.CodeMethodNotSupported)
				return
			}
			lab.WantRefused(t, a, 404, "unknown_url")
		})
	}
	for _, path := range []string{lab.RawPath, lab.ChatPath} { // harmony mesh check asks so
		t.Run("OPTIONS "+path, func(t *testing.T) {
			header := http.Header{"x-harmony-internal-pool": {"gpt-oss-120b"}}
			lab.WantRefused(t, lab.Do(one, http.MethodOptions, h.URL+path, header, nil), 404, "unknown_url")
		})
	}
	for path, header := range map[string]http.Header{
		contract.KindNamed(kind).Path: {"x-harmony-internal-pool": {"gpt-oss-120b"}}, lab.ChatPath: nil, "/anything": nil} {
		t.Run("PUT "+path, func(t *testing.T) {
			// Some servers take prompts by PUT too.
			a := lab.Do(one, http.MethodPut, h.URL+path, header, strings.NewReader(`{"model":"gpt-oss-120b","prompt":"x"}`))
			switch {
			case path == lab.ChatPath:
				lab.WantRefused(t, a, 405, contract.CodeMethodNotSupported)
			case path == contract.KindNamed(kind).Path:
				lab.WantRefused(t, a, 403, "raw_prompt_not_allowed")
			default:
				lab.WantRefused(t, a, 404, "unknown_url")
			}
		})
	}
	if seen := gpu.Requests(); len(seen) != 0 {
		t.Errorf("%d requests reached the server, the first %s %s %s", len(seen), seen[0].Method, seen[0].Path, seen[0].Body)
	}
}

// TestInternalHeaders: what only the gateway may set is neither believed nor passed on.
func TestInternalHeaders(t *testing.T) { lab.OnProxies(t, internalHeaders) }

func internalHeaders(t *testing.T, run lab.RunProxy) {
	first, firstURL := lab.RunSim(t, sim.Options{})
	second, secondURL := lab.RunSim(t, sim.Options{Models: []string{"second"}})
	through := lab.RunCapture(t)
	c := lab.OneModel(firstURL)
	lab.AddModel(c, "second", secondURL)
	c.Passthrough, c.PassthroughPaths = "http://"+through.Address, []string{"/"}
	h := run(t, c)
	header := http.Header{
		"X-Harmony-Internal-Pool": {"second"}, "x-harmony-internal-pool": {"second"}, "x-harmony-internal-": {"x"},
		"X-HARMONY-INTERNAL-ANYTHING": {"1"}, "Content-Type": {"application/json"}, "X-Harmony-Public": {"stays"},
	}
	for _, client := range []*http.Client{lab.HTTP1(t), lab.HTTP2(t)} {
		for path, body := range map[string]string{
			lab.ChatPath: lab.ChatBody(lab.Model, "Hi"), lab.ResponsesPath: lab.ResponsesBody(lab.Model, "Hi")} {
			if a := lab.Do(client, http.MethodPost, h.URL+path, header, strings.NewReader(body)); a.Status != 200 ||
				a.Err != nil {
				t.Errorf("%s: %+v", path, a)
			}
		}
		for _, path := range []string{lab.ChatPath, lab.RawPath, "/generate", "/anything"} {
			if a := lab.Do(client, http.MethodPost, h.URL+path, header,
				strings.NewReader(lab.ChatBody("other", "Hi"))); a.Status != 207 || a.Err != nil {
				t.Errorf("%s: %+v", path, a)
			}
		}
	}
	if n := len(second.Requests()); n != 0 {
		t.Errorf("a client chose the pool of %d requests", n)
	}
	if n := len(first.Requests()); n != 4 {
		t.Errorf("%d requests reached the right pool, want 4", n)
	}
	for _, r := range first.Requests() {
		if r.Header.Get("X-Harmony-Public") != "stays" {
			t.Errorf("a header is missing: %v", r.Header)
		}
		for name := range r.Header {
			if strings.HasPrefix(strings.ToLower(name), "x-harmony-internal-") {
				t.Errorf("the server got %s", name)
			}
		}
	}
	passed := through.Take()
	if len(passed) != 8 {
		t.Errorf("%d requests passed through, want 8", len(passed))
	}
	for _, m := range passed {
		if strings.Contains(strings.ToLower(m.String()), "x-harmony-internal-") ||
			!strings.Contains(strings.ToLower(strings.Join(m.Head, "\n")), "x-harmony-public: stays") {
			t.Errorf("the passthrough server got\n%s", m)
		}
	}
}

// TestWithoutFilter: an Envoy that has lost the filter serves no model at all.
func TestWithoutFilter(t *testing.T) {
	all, servers := oneModelOfEach(t, contract.ServerKinds())
	for i, kind := range contract.ServerKinds() {
		if !contract.TakesConversations(kind) {
			all[i].Models[0].RawPrompts = "allow"
		}
	}
	for i, h := range lab.RunEnvoyOfAll(t, all, lab.WithoutFilter) {
		t.Run(contract.ServerKinds()[i], func(t *testing.T) { withoutFilter(t, h, servers[i]) })
	}
}

func withoutFilter(t *testing.T, h *hosts.Host, gpu *sim.Server) {
	client := lab.HTTP1(t)
	for _, header := range []http.Header{nil, {"X-Harmony-Internal-Pool": {"gpt-oss-120b"}},
		{"x-harmony-internal-pool": {"gpt-oss-120b", "gpt-oss-120b"}}} {
		for _, path := range []string{lab.ChatPath, lab.ResponsesPath, lab.RawPath, "/generate", "/completion",
			"/inference/v1/generate"} {
			a := lab.Do(client, http.MethodPost, h.URL+path, header, strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
			want, code := 503, "server_unavailable"
			if !strings.HasPrefix(path, "/v1/") {
				want, code = 404, "unknown_url"
			}
			lab.WantRefused(t, a, want, code)
		}
	}
	if n := len(gpu.Requests()); n != 0 {
		t.Errorf("%d requests reached the server", n)
	}
}

// TestRawPromptsAllowed: where the operator wants it, a prompt goes to the server as it came, and the answer back.
func TestRawPromptsAllowed(t *testing.T) {
	gpu, url := lab.RunSim(t, sim.Options{AnyPrompt: true})
	c := lab.OneModel(url)
	c.Models[0].RawPrompts = "allow"
	lab.AddModel(c, "denied", "http://127.0.0.1:9")
	on := map[string]string{"envoy": lab.RunEnvoy(t, c).URL, "wazero": lab.RunWazero(t, c).URL,
		"native": lab.RunNative(t, c).URL}
	for name, base := range on {
		t.Run(name, func(t *testing.T) {
			client := lab.HTTP1(t)
			body := `{"model":"gpt-oss-120b", "prompt":"Once upon a time", "max_tokens":8,"stream":false}`
			a := lab.Ask(client, base+lab.RawPath, body)
			if a.Status != 200 || !strings.Contains(a.Body, `"object":"text_completion"`) {
				t.Errorf("got %+v", a)
			}
			seen := gpu.Requests()
			if last := seen[len(seen)-1]; string(last.Body) != body || last.Path != lab.RawPath {
				t.Errorf("the server got %s %s", last.Path, last.Body)
			}
			a = lab.Ask(client, base+lab.RawPath, `{"model":"gpt-oss-120b","prompt":[200006,17360],"stream":true,`+
				`"return_token_ids":true}`)
			if a.Status != 200 || !strings.HasSuffix(a.Body, "data: [DONE]\n\n") || !strings.Contains(a.Body, `"token_ids"`) {
				t.Errorf("got %+v", a)
			}
			lab.WantRefused(t, lab.Ask(client, base+lab.RawPath, `{"model":"denied","prompt":"x"}`), 403,
				"raw_prompt_not_allowed")
			// The server has no such path; and its own paths stay out of reach.
			lab.WantRefused(t, lab.Ask(client, base+"/generate", `{"model":"gpt-oss-120b","text":"x"}`), 403,
				"raw_prompt_not_allowed")
		})
	}
}

// TestRawPromptsOfKinds: where the operator wants it, prompts go to the path of the servers' kind, and to no other.
func TestRawPromptsOfKinds(t *testing.T) { lab.OnProxiesOfAll(t, rawPromptsOfKinds) }

func rawPromptsOfKinds(t *testing.T, run lab.RunProxies) {
	var paths []string
	kinds := slices.DeleteFunc(contract.ServerKinds(), func(k string) bool { return contract.KindNamed(k).Conversations })
	for _, kind := range kinds {
		paths = append(paths, contract.KindNamed(kind).Path)
	}
	all, servers := oneModelOfEach(t, kinds)
	for _, c := range all {
		c.Models[0].RawPrompts = "allow"
	}
	for i, h := range run(t, all) {
		t.Run(kinds[i], func(t *testing.T) {
			gpu, client := servers[i], lab.HTTP1(t)
			const body = `{"model":"gpt-oss-120b", "anything":1}`
			// SGLang takes prompts by PUT as by POST.
			for n, method := range []string{http.MethodPost, http.MethodPut} {
				send := func(path string) lab.Answer {
					return lab.Do(client, method, h.URL+path, nil, strings.NewReader(body))
				}
				for _, path := range paths {
					if path != paths[i] {
						lab.WantRefused(t, send(path), 403, "raw_prompt_not_allowed")
					}
				}
				// The server has something to say about the body. The gateway sends it as it is.
				send(paths[i])
				if seen := gpu.Requests(); len(seen) != n+1 || seen[n].Method != method || seen[n].Path != paths[i] ||
					string(seen[n].Body) != body {
					t.Errorf("the server got %+v", seen)
				}
			}
		})
	}
}

// TestPassthroughAndRawPrompts: a passthrough server does not open the way to a Harmony model.
func TestPassthroughAndRawPrompts(t *testing.T) { lab.OnProxies(t, passthroughAndRawPrompts) }

func passthroughAndRawPrompts(t *testing.T, run lab.RunProxy) {
	gpu, url := lab.RunSim(t, sim.Options{})
	through := lab.RunCapture(t)
	c := lab.OneModel(url)
	c.Passthrough = "http://" + through.Address
	h := run(t, c)
	client := lab.HTTP1(t)
	for _, path := range []string{lab.RawPath, "/generate", "/completion", "/inference/v1/generate"} {
		lab.WantRefused(t, lab.Ask(client, h.URL+path, `{"model":"gpt-oss-120b","prompt":"x"}`), 403,
			"raw_prompt_not_allowed")
		lab.WantRefused(t, lab.Ask(client, h.URL+path, `{"model":"other","model":"gpt-oss-120b","prompt":"x"}`), 400,
			"duplicate_key")
		lab.WantRefused(t, lab.Ask(client, h.URL+path, `{"model":"gpt-oss-120b","prompt":"x",}`), 400, "invalid_json")
	}
	for _, path := range config.DefaultPassthroughPaths() {
		if a := lab.Ask(client, h.URL+path, `{}`); a.Status != 207 {
			t.Errorf("%s: %+v", path, a)
		}
	}
	if n := len(through.Take()); n != len(config.DefaultPassthroughPaths()) {
		t.Errorf("%d requests passed through", n)
	}
	for _, path := range []string{"/metrics", "/abort_requests", "/flush_cache", "/healthz", "/v1/../metrics"} {
		lab.WantRefused(t, lab.Ask(client, h.URL+path, `{}`), 404, "unknown_url")
	}
	if n := len(gpu.Requests()) + len(through.Take()); n != 0 {
		t.Errorf("%d requests reached a server", n)
	}
}
