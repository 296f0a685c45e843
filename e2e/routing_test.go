//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// routingHosts starts every host with these servers. The names are the tests'.
func routingHosts(t *testing.T, configure func() *config.Config) []*hosts.Host {
	return []*hosts.Host{runNative(t, configure()), runWazero(t, configure()), runEnvoy(t, configure())}
}

// routed is a request, and whose it is.
type routed struct {
	method, target, body string
}

// beyondOneAnswer are requests of every kind that is the responses service's.
func beyondOneAnswer() []routed {
	of := func(members string) string {
		return "{ \"model\" : \"gpt-oss-120b\",\n \"input\":\"H\\u0069 \U0001F600\", " + members + " }"
	}
	out := []routed{
		{"POST", responsesPath, of(`"stream":true`)}, // to be stored, as the API has it
		{"POST", responsesPath, of(`"store":true,"x":[1e400]`)},
		{"POST", responsesPath + "?answer=events&x=%2F%20y",
			of(`"stream":true,"store":false,"previous_response_id":"resp_1"`)},
		{"POST", responsesPath, of(`"store":false,"conversation":{"id":"conv_1"}`)},
		{"POST", responsesPath, of(`"store":false,"background":true`)},
		{"POST", responsesPath, `{"model":"gpt-oss-120b","store":false,"input":[{"role":"user","content":"Hi"},` +
			`{"type":"item_reference","id":"msg_1"}]}`},
		{"POST", responsesPath + "/input_tokens", of(`"previous_response_id":"resp_1"`)},
		{"GET", responsesPath + "/resp_1?stream=true&starting_after=3&answer=events", ""},
		{"GET", responsesPath + "/resp_1/input_items?limit=2&order=asc", ""},
		{"DELETE", responsesPath + "/resp_1?answer=empty", ""},
		{"POST", responsesPath + "/resp_1/cancel?answer=error", ""},
		// more than body_limit
		{"POST", "/v1/conversations", `{"items":[{"role":"user","content":"` + strings.Repeat("0123456789abcdef", 3<<20/16) +
			`"}]}`},
		{"GET", "/v1/conversations/conv_1", ""},
		{"POST", "/v1/conversations/conv_1/items?include=x", `{"items":[]}`},
		{"DELETE", "/v1/conversations/conv_1/items/msg_1?answer=length", ""},
	}
	for _, tool := range []string{
		`{"type":"mcp","server_label":"a","server_url":"https://mcp.example"}`, `{"type":"web_search"}`,
		`{"type":"web_search_preview_2025_03_11"}`,
		`{"type":"file_search","vector_store_ids":["v"]}`, `{"type":"code_interpreter","container":"c"}`,
		`{"type":"computer_use_preview"}`, `{"type":"image_generation"}`,
	} {
		out = append(out, routed{"POST", responsesPath + "?answer=length", of(`"store":false,"tools":[{"type":"function",` +
			`"name":"f"},` + tool + `]`)})
	}
	return out
}

// TestRouting: what needs a memory or tools that somebody runs reaches the responses service as it was sent, and its answer
// the client; all else goes where it went, and no header of a client's changes that.
func TestRouting(t *testing.T) {
	gpu, url := runSim(t, sim.Options{})
	service := newCapture(t)
	for _, host := range routingHosts(t, func() *config.Config {
		c := oneModel(url)
		c.ResponsesService.URL = "http://" + service.address
		return c
	}) {
		clients := map[string]*http.Client{"HTTP/1.1": http1(t)}
		if host.Name != "native" {
			clients["HTTP/2"] = http2Client(t)
		}
		sent := 0
		for protocol, client := range clients {
			t.Run(host.Name+"/"+protocol, func(t *testing.T) {
				before := len(gpu.Requests())
				for i, r := range beyondOneAnswer() {
					// In chunks every other time.
					var body io.Reader = strings.NewReader(r.body)
					if r.body == "" {
						body = nil
					} else if i%2 == 1 {
						body = io.MultiReader(body)
					}
					sent++
					checkRouted(t, service, r, do(client, r.method, host.URL+r.target, clientsHeaders(), body))
				}
				if n := len(gpu.Requests()); n != before {
					t.Fatalf("%d requests have reached the model's server", n-before)
				}
				notRouted(t, client, host.URL)
				if seen := service.take(); len(seen) != 0 {
					t.Errorf("the service got %s", seen[0])
				}
			})
		}
		if host.Process == nil {
			continue
		}
		stats, err := host.Process.Get(t.Context(), "/stats?filter=harmony_routed_requests_total")
		if want := fmt.Sprintf("harmony_routed_requests_total: %d\n", sent); err != nil ||
			!strings.HasSuffix(string(stats), want) {
			t.Errorf("%s is counted as %s (%v)", want, stats, err)
		}
	}
}

// clientsHeaders are those that the service must get, and one that it must not.
func clientsHeaders() http.Header {
	return http.Header{
		"Authorization": {"Bearer secret"}, "X-Tenant": {"acme"}, "X-Harmony-Strict": {"1"},
		"X-Harmony-Internal-Pool": {caseModel},
	}
}

// checkRouted holds what the service got against what was sent, and the answer against what it sent.
func checkRouted(t *testing.T, service *capture, r routed, a answer) {
	t.Helper()
	name := r.method + " " + r.target + " " + r.body[:min(len(r.body), 200)]
	seen := service.take()
	if len(seen) != 1 {
		t.Fatalf("%s: %d requests have reached the service; %d %s %v", name, len(seen), a.status, a.body, a.err)
	}
	got := seen[0]
	if want := r.method + " " + r.target + " HTTP/1.1"; got.head[0] != want {
		t.Errorf("%s: came as %s", name, got.head[0])
	}
	if string(got.body) != r.body {
		t.Errorf("%s: the body came as %.200q", name, got.body)
	}
	for _, want := range []string{"authorization: bearer secret", "x-tenant: acme", "x-harmony-strict: 1"} {
		if !slices.ContainsFunc(got.head, func(line string) bool { return strings.EqualFold(line, want) }) {
			t.Errorf("%s: came without %s:\n%s", name, want, got)
		}
	}
	if slices.ContainsFunc(got.head, func(line string) bool {
		return strings.HasPrefix(strings.ToLower(line), contract.InternalHeaderPrefix)
	}) {
		t.Errorf("%s: an internal header came through:\n%s", name, got)
	}
	status, head, body := captureParts(got)
	if a.err != nil || fmt.Sprint(a.status) != status || a.body != body {
		t.Errorf("%s: the client got %d %q (%v), want %s %q", name, a.status, a.body, a.err, status, body)
	}
	for _, line := range head {
		if name, value, _ := strings.Cut(line, ":"); !slices.Contains(a.header.Values(name), strings.TrimSpace(value)) {
			t.Errorf("%s: the client got %v, want %s", r.target, a.header, line)
		}
	}
}

// notRouted are requests that are not the service's, whatever a client says of its pool.
func notRouted(t *testing.T, client *http.Client, base string) {
	t.Helper()
	header := http.Header{"X-Harmony-Internal-Pool": {config.ResponsesPool}}
	for _, r := range []struct {
		routed
		status int
		holds  string
	}{
		{routed{"POST", responsesPath, `{"model":"gpt-oss-120b","input":"Hi","store":false}`}, 200, "You said: Hi"},
		{routed{"POST", responsesPath, `{"model":"gpt-oss-120b","input":"Hi","store":false,"tools":[{"type":"function",` +
			`"name":"f"},{"type":"custom","name":"g"}]}`}, 200, `"object":"response"`},
		{routed{"POST", chatPath, chatBody(caseModel, "Hi")}, 200, "You said: Hi"},
		{routed{"POST", responsesPath + "/input_tokens", `{"model":"gpt-oss-120b","input":"Hi"}`}, 200, `"input_tokens":`},
		{routed{"POST", responsesPath, `{"model":"gpt-oss-120b","input":"Hi","prompt":{"id":"p"},"store":false}`}, 400,
			"unsupported_parameter"},
		{routed{"POST", responsesPath, `{"model":"other","input":"Hi","previous_response_id":"r"}`}, 404, "model_not_found"},
		{routed{"POST", responsesPath, `{"model":"gpt-oss-120b","input":"Hi","previous_response_id":"r"`}, 400,
			"invalid_json"},
		{routed{"POST", responsesPath, `{"model":"gpt-oss-120b","input":"` + strings.Repeat("x", 1<<20) + `"}`}, 413,
			"request_too_large"},
		{routed{"POST", rawPath, `{"model":"gpt-oss-120b","prompt":"Hi"}`}, 403, "raw_prompt_not_allowed"},
		{routed{"GET", "/v1/models/gpt-oss-120b", ""}, 200, `"object":"model"`},
	} {
		a := do(client, r.method, base+r.target, header, strings.NewReader(r.body))
		if a.err != nil || a.status != r.status || !strings.Contains(a.body, r.holds) {
			t.Errorf("%s %s %.200s: %d %s %v", r.method, r.target, r.body, a.status, a.body, a.err)
		}
	}
	// Paths that are nobody's lead nowhere, with such a header too.
	for _, path := range []string{"/v1/embeddings", responsesPath + "/resp_1/output", "/v1/conversationsx"} {
		if a := do(client, http.MethodPost, base+path, header, strings.NewReader("{}")); a.status != 404 {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// TestRoutingWantsTheFilter: without it nobody reaches the service.
func TestRoutingWantsTheFilter(t *testing.T) {
	service := newCapture(t)
	c := oneModel("http://127.0.0.1:1")
	c.ResponsesService.URL = "http://" + service.address
	host := runEnvoy(t, c, withoutFilter)
	header := http.Header{"X-Harmony-Internal-Pool": {config.ResponsesPool}}
	for _, r := range beyondOneAnswer() {
		if len(r.body) > 1<<20 {
			continue // the answer need not wait for it
		}
		if a := do(http1(t), r.method, host.URL+r.target, header, strings.NewReader(r.body)); a.status != 404 &&
			a.status != 503 {
			t.Errorf("%s %s: %d %s", r.method, r.target, a.status, a.body)
		}
	}
	if seen := service.take(); len(seen) != 0 {
		t.Errorf("the service got %s", seen[0])
	}
}

// TestRoutingParts: a service takes what it is said to take, and the rest is as without one.
func TestRoutingParts(t *testing.T) {
	no := false
	_, url := runSim(t, sim.Options{})
	service, other := newCapture(t), newCapture(t)
	const (
		previous = `{"model":"gpt-oss-120b","input":"Hi","store":false,"previous_response_id":"resp_1"}`
		search   = `{"model":"gpt-oss-120b","input":"Hi","store":false,"tools":[{"type":"web_search"}]}`
	)
	for _, tt := range []struct {
		name                    string
		configure               func(*config.Config)
		previous, search, saved string
	}{
		{"tools only", func(c *config.Config) { c.ResponsesService.Stores = &no }, "previous_response_not_found", "service",
			"other"},
		{"stores only", func(c *config.Config) { c.ResponsesService.HostedTools = &no }, "service", "model", "service"},
		{"stores only, tools refused", func(c *config.Config) {
			c.ResponsesService.HostedTools, c.HostedTools = &no, contract.HostedToolsRefuse
		}, "service", "unsupported_parameter", "service"},
		{"none", func(c *config.Config) { c.ResponsesService = config.ResponsesService{} }, "previous_response_not_found",
			"model", "other"},
	} {
		for _, host := range routingHosts(t, func() *config.Config {
			c := oneModel(url)
			c.ResponsesService.URL, c.Passthrough = "http://"+service.address, "http://"+other.address
			tt.configure(c)
			return c
		}) {
			t.Run(tt.name+"/"+host.Name, func(t *testing.T) {
				reached := func(a answer) string {
					switch {
					case len(service.take()) == 1:
						return "service"
					case len(other.take()) == 1:
						return "other"
					case a.status == 200:
						return "model"
					}
					return a.shaped()
				}
				client := http1(t)
				if got := reached(ask(client, host.URL+responsesPath, previous)); got != tt.previous {
					t.Errorf("goes on from another: %s, want %s", got, tt.previous)
				}
				if got := reached(ask(client, host.URL+responsesPath, search)); got != tt.search {
					t.Errorf("searches: %s, want %s", got, tt.search)
				}
				if got := reached(do(client, http.MethodGet, host.URL+responsesPath+"/resp_1", nil, nil)); got != tt.saved {
					t.Errorf("saved: %s, want %s", got, tt.saved)
				}
			})
		}
	}
}

// TestRoutingComesBack: what the service asks the model for by way of the gateway is answered there, and does not come
// round again.
func TestRoutingComesBack(t *testing.T) {
	gpu, url := runSim(t, sim.Options{})
	var gateway atomic.Pointer[string]
	var asked atomic.Int64
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Contains(body, []byte(`"previous_response_id":"resp_1"`)) {
			http.Error(w, "not what was sent", http.StatusInternalServerError)
			return
		}
		stateless := `{"model":"gpt-oss-120b","stream":true,"store":false,"input":[{"role":"user","content":"Once"},` +
			`{"role":"assistant","content":"upon"},{"role":"user","content":"a time"}]}`
		again, err := http.NewRequestWithContext(
			r.Context(), http.MethodPost, *gateway.Load()+responsesPath, strings.NewReader(stateless))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		again.Header = r.Header.Clone()
		response, err := http.DefaultTransport.RoundTrip(again)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		w.Header().Set("content-type", response.Header.Get("content-type"))
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body) // a client that has gone is the test's to notice
	}))
	defer service.Close()
	for _, host := range routingHosts(t, func() *config.Config {
		c := oneModel(url)
		c.ResponsesService.URL = service.URL
		return c
	}) {
		t.Run(host.Name, func(t *testing.T) {
			gateway.Store(&host.URL)
			asked.Store(0)
			before := len(gpu.Requests())
			a := ask(http1(t), host.URL+responsesPath,
				`{"model":"gpt-oss-120b","input":"a time","stream":true,"previous_response_id":"resp_1"}`)
			if _, err := readResponsesStream(a.body, false); err != nil || a.status != 200 ||
				!strings.Contains(a.body, "You said: a time") {
				t.Errorf("%v: %+v", err, a)
			}
			if n := len(gpu.Requests()) - before; asked.Load() != 1 || n != 1 {
				t.Errorf("the service was asked %d times, the model %d", asked.Load(), n)
			}
		})
	}
}
