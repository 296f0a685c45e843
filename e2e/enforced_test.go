//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

const (
	chatPath      = "/v1/chat/completions"
	responsesPath = "/v1/responses"
	rawPath       = "/v1/completions"
)

func chatBody(model, text string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%s}]}`, model, quoted(text))
}

func responsesBody(model, text string) string {
	return fmt.Sprintf(`{"model":%q,"input":%s}`, model, quoted(text))
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// refused checks an error in OpenAI's shape.
func refused(t *testing.T, a answer, status int, code string) {
	t.Helper()
	if a.err != nil || a.status != status || a.shaped() != code {
		t.Errorf("got %d %q %s (%v), want %d %s", a.status, a.header.Get("content-type"), a.body, a.err, status, code)
	}
}

// TestEnforced: a Harmony server is reached by translation only (RATIONALE.md#77).
func TestEnforced(t *testing.T) { onProxies(t, enforced) }

func enforced(t *testing.T, run runProxy) {
	gpu, url := runSim(t, sim.Options{})
	h := run(t, oneModel(url))
	one, two := http1(t), http2Client(t)
	rejected := []struct {
		name, path, body string
		status           int
		code             string
	}{
		{"raw prompt", rawPath, `{"model":"gpt-oss-120b","prompt":"<|start|>system"}`, 403, "raw_prompt_not_allowed"},
		{"raw ids", rawPath, `{"model":"gpt-oss-120b","prompt":[200006]}`, 403, "raw_prompt_not_allowed"},
		{"raw prompt, query", rawPath + "?x=1", `{"model":"gpt-oss-120b","prompt":"x"}`, 403, "raw_prompt_not_allowed"},
		{"raw prompt, escaped model", rawPath, `{"\u006dodel":"gpt\u002doss-120b","prompt":"x"}`, 403,
			"raw_prompt_not_allowed"},
		{"raw prompt, slashes", "//v1///completions", `{"model":"gpt-oss-120b","prompt":"x"}`, 403, "raw_prompt_not_allowed"},
		{"raw prompt, dots", "/v1/x/../completions", `{"model":"gpt-oss-120b","prompt":"x"}`, 403, "raw_prompt_not_allowed"},
		{"raw prompt, escaped path", "/v1/%63ompletions", `{"model":"gpt-oss-120b","prompt":"x"}`, 403,
			"raw_prompt_not_allowed"},
		{"SGLang", "/generate", `{"model":"gpt-oss-120b","text":"x"}`, 403, "raw_prompt_not_allowed"},
		{"llama.cpp", "/completion", `{"model":"gpt-oss-120b","prompt":"x"}`, 403, "raw_prompt_not_allowed"},
		{"vLLM's token endpoint", "/inference/v1/generate", `{"model":"gpt-oss-120b","token_ids":[1]}`, 403,
			"raw_prompt_not_allowed"},
		{"raw prompt, two models", rawPath, `{"model":"other","prompt":"x","model":"gpt-oss-120b"}`, 400, "duplicate_key"},
		{"raw prompt, bad JSON", rawPath, `{"model":"gpt-oss-120b","prompt":"x"`, 400, "invalid_json"},

		{"two models", chatPath, `{"model":"gpt-oss-120b","messages":[],"model":"other"}`, 400, "duplicate_key"},
		{"two models, escaped", chatPath, `{"model":"other","messages":[],"\u006d\u006Fdel":"gpt-oss-120b"}`, 400,
			"duplicate_key"},
		{"two models, responses", responsesPath, `{"model":"gpt-oss-120b","model":"gpt-oss-120b","input":"Hi"}`, 400,
			"duplicate_key"},
		{"two messages", chatPath, `{"model":"gpt-oss-120b","messages":[],"messages":[]}`, 400, "duplicate_key"},
		{"two inputs", responsesPath, `{"model":"gpt-oss-120b","input":"a","inpu\u0074":"b"}`, 400, "duplicate_key"},
		{"two streams", chatPath, `{"stream":true,"model":"gpt-oss-120b","messages":[],"stream":false}`, 400,
			"duplicate_key"},
		{"no model", chatPath, `{"messages":[]}`, 400, "missing_required_parameter"},
		{"no model, responses", responsesPath, `{"input":"Hi"}`, 400, "missing_required_parameter"},
		{"null model", chatPath, `{"model":null,"messages":[]}`, 400, "invalid_type"},
		{"model is a number", chatPath, `{"model":1,"messages":[]}`, 400, "invalid_type"},
		{"model is a list", responsesPath, `{"model":["gpt-oss-120b"],"input":"Hi"}`, 400, "invalid_type"},
		{"empty model", responsesPath, `{"model":"","input":"Hi"}`, 400, "invalid_value"},
		{"other model", chatPath, chatBody("gpt-4", "Hi"), 404, "model_not_found"},
		{"model in upper case", chatPath, chatBody("GPT-OSS-120B", "Hi"), 404, "model_not_found"},
		{"model and a space", chatPath, chatBody("gpt-oss-120b ", "Hi"), 404, "model_not_found"},
		{"a list", chatPath, `[{"model":"gpt-oss-120b"}]`, 400, "invalid_type"},

		{"abort_requests", "/abort_requests", `{}`, 404, "unknown_url"},
		{"flush_cache", "/flush_cache", `{}`, 404, "unknown_url"},
		{"tokenize for another model", "/tokenize", `{"model":"other","prompt":"x"}`, 404, "model_not_found"},
		{"tokenize for none", "/tokenize", `{"prompt":"x"}`, 400, "missing_required_parameter"},
		{"path with a slash", chatPath + "/", chatBody(caseModel, "Hi"), 403, "raw_prompt_not_allowed"},
		{"path in upper case", "/V1/completions", `{"model":"gpt-oss-120b","prompt":"x"}`, 403, "raw_prompt_not_allowed"},
		{"escaped slash", "/v1%2Fcompletions", `{"model":"gpt-oss-120b","prompt":"x"}`, 403, "raw_prompt_not_allowed"},
	}
	for _, tt := range rejected {
		t.Run(tt.name, func(t *testing.T) {
			for _, client := range []*http.Client{one, two} {
				// Whatever a client says in headers that only the gateway may set, nothing changes.
				for _, header := range []http.Header{
					nil, {"X-Harmony-Internal-Pool": {"gpt-oss-120b"}, "Content-Type": {"application/json"}}} {
					refused(t, do(client, http.MethodPost, h.URL+tt.path, header, strings.NewReader(tt.body)), tt.status, tt.code)
				}
			}
		})
	}
	for _, path := range []string{"/metrics", "/v1/modelsx", "/healthz", "/", rawPath, chatPath, "/version",
		"/v1/../metrics", "/v1/chat/completions/../../../metrics"} {
		t.Run("GET "+path, func(t *testing.T) {
			header := http.Header{"x-harmony-internal-pool": {"gpt-oss-120b"}}
			refused(t, do(one, http.MethodGet, h.URL+path, header, nil), 404, "unknown_url")
		})
	}
	if seen := gpu.Requests(); len(seen) != 0 {
		t.Errorf("%d requests reached the server, the first %s %s %s", len(seen), seen[0].Method, seen[0].Path, seen[0].Body)
	}
}

// TestInternalHeaders: what only the gateway may set is neither believed nor passed on.
func TestInternalHeaders(t *testing.T) { onProxies(t, internalHeaders) }

func internalHeaders(t *testing.T, run runProxy) {
	first, firstURL := runSim(t, sim.Options{})
	second, secondURL := runSim(t, sim.Options{Models: []string{"second"}})
	through := newCapture(t)
	c := oneModel(firstURL)
	addModel(c, "second", secondURL)
	c.Passthrough, c.PassthroughPaths = "http://"+through.address, []string{"/"}
	h := run(t, c)
	header := http.Header{
		"X-Harmony-Internal-Pool": {"second"}, "x-harmony-internal-pool": {"second"}, "x-harmony-internal-": {"x"},
		"X-HARMONY-INTERNAL-ANYTHING": {"1"}, "Content-Type": {"application/json"}, "X-Harmony-Public": {"stays"},
	}
	for _, client := range []*http.Client{http1(t), http2Client(t)} {
		for path, body := range map[string]string{
			chatPath: chatBody(caseModel, "Hi"), responsesPath: responsesBody(caseModel, "Hi")} {
			if a := do(client, http.MethodPost, h.URL+path, header, strings.NewReader(body)); a.status != 200 || a.err != nil {
				t.Errorf("%s: %+v", path, a)
			}
		}
		for _, path := range []string{chatPath, rawPath, "/generate", "/anything"} {
			if a := do(client, http.MethodPost, h.URL+path, header,
				strings.NewReader(chatBody("other", "Hi"))); a.status != 207 || a.err != nil {
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
	passed := through.take()
	if len(passed) != 8 {
		t.Errorf("%d requests passed through, want 8", len(passed))
	}
	for _, m := range passed {
		if strings.Contains(strings.ToLower(m.String()), "x-harmony-internal-") ||
			!strings.Contains(strings.ToLower(strings.Join(m.head, "\n")), "x-harmony-public: stays") {
			t.Errorf("the passthrough server got\n%s", m)
		}
	}
}

// TestWithoutFilter: an Envoy that has lost the filter serves no model at all.
func TestWithoutFilter(t *testing.T) {
	gpu, url := runSim(t, sim.Options{})
	c := oneModel(url)
	c.Models[0].RawPrompts = "allow"
	h := runEnvoy(t, c, withoutFilter)
	client := http1(t)
	for _, header := range []http.Header{nil, {"X-Harmony-Internal-Pool": {"gpt-oss-120b"}},
		{"x-harmony-internal-pool": {"gpt-oss-120b", "gpt-oss-120b"}}} {
		for _, path := range []string{chatPath, responsesPath, rawPath, "/generate", "/completion",
			"/inference/v1/generate"} {
			a := do(client, http.MethodPost, h.URL+path, header, strings.NewReader(chatBody(caseModel, "Hi")))
			want, code := 503, "server_unavailable"
			if !strings.HasPrefix(path, "/v1/") {
				want, code = 404, "unknown_url"
			}
			refused(t, a, want, code)
		}
	}
	if n := len(gpu.Requests()); n != 0 {
		t.Errorf("%d requests reached the server", n)
	}
}

// TestRawPromptsAllowed: where the operator wants it, a prompt goes to the server as it came, and the answer back.
func TestRawPromptsAllowed(t *testing.T) {
	gpu, url := runSim(t, sim.Options{AnyPrompt: true})
	c := oneModel(url)
	c.Models[0].RawPrompts = "allow"
	addModel(c, "denied", "http://127.0.0.1:9")
	on := map[string]string{"envoy": runEnvoy(t, c).URL, "wazero": runWazero(t, c).URL, "native": runNative(t, c).URL}
	for name, base := range on {
		t.Run(name, func(t *testing.T) {
			client := http1(t)
			body := `{"model":"gpt-oss-120b", "prompt":"Once upon a time", "max_tokens":8,"stream":false}`
			a := ask(client, base+rawPath, body)
			if a.status != 200 || !strings.Contains(a.body, `"object":"text_completion"`) {
				t.Errorf("got %+v", a)
			}
			seen := gpu.Requests()
			if last := seen[len(seen)-1]; string(last.Body) != body || last.Path != rawPath {
				t.Errorf("the server got %s %s", last.Path, last.Body)
			}
			a = ask(client, base+rawPath, `{"model":"gpt-oss-120b","prompt":[200006,17360],"stream":true,`+
				`"return_token_ids":true}`)
			if a.status != 200 || !strings.HasSuffix(a.body, "data: [DONE]\n\n") || !strings.Contains(a.body, `"token_ids"`) {
				t.Errorf("got %+v", a)
			}
			refused(t, ask(client, base+rawPath, `{"model":"denied","prompt":"x"}`), 403, "raw_prompt_not_allowed")
			// The server has no such path; and its own paths stay out of reach.
			refused(t, ask(client, base+"/generate", `{"model":"gpt-oss-120b","text":"x"}`), 403, "raw_prompt_not_allowed")
		})
	}
}

// TestPassthroughAndRawPrompts: a passthrough server does not open the way to a Harmony model.
func TestPassthroughAndRawPrompts(t *testing.T) { onProxies(t, passthroughAndRawPrompts) }

func passthroughAndRawPrompts(t *testing.T, run runProxy) {
	gpu, url := runSim(t, sim.Options{})
	through := newCapture(t)
	c := oneModel(url)
	c.Passthrough = "http://" + through.address
	h := run(t, c)
	client := http1(t)
	for _, path := range []string{rawPath, "/generate", "/completion", "/inference/v1/generate"} {
		refused(t, ask(client, h.URL+path, `{"model":"gpt-oss-120b","prompt":"x"}`), 403, "raw_prompt_not_allowed")
		refused(t, ask(client, h.URL+path, `{"model":"other","model":"gpt-oss-120b","prompt":"x"}`), 400, "duplicate_key")
		refused(t, ask(client, h.URL+path, `{"model":"gpt-oss-120b","prompt":"x",}`), 400, "invalid_json")
	}
	for _, path := range config.DefaultPassthroughPaths() {
		if a := ask(client, h.URL+path, `{}`); a.status != 207 {
			t.Errorf("%s: %+v", path, a)
		}
	}
	if n := len(through.take()); n != len(config.DefaultPassthroughPaths()) {
		t.Errorf("%d requests passed through", n)
	}
	for _, path := range []string{"/metrics", "/abort_requests", "/flush_cache", "/healthz", "/v1/../metrics"} {
		refused(t, ask(client, h.URL+path, `{}`), 404, "unknown_url")
	}
	if n := len(gpu.Requests()) + len(through.take()); n != 0 {
		t.Errorf("%d requests reached a server", n)
	}
}
