//go:build e2e

package routing

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

	"github.com/harmonyedge/harmonyedge/e2e/grammar"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/operator/config"
	"github.com/harmonyedge/harmonyedge/sim"
)

// routingHosts starts every host with these servers. The names are the tests'.
func routingHosts(t *testing.T, configure func() *config.Config) []*hosts.Host {
	return []*hosts.Host{lab.RunNative(t, configure()), lab.RunWazero(t, configure()), lab.RunEnvoy(t, configure())}
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
		{"POST", lab.ResponsesPath, of(`"stream":true`)}, // to be stored, as the API has it
		{"POST", lab.ResponsesPath, of(`"store":true,"x":[1e400]`)},
		{"POST", lab.ResponsesPath + "?answer=events&x=%2F%20y",
			of(`"stream":true,"store":false,"previous_response_id":"resp_1"`)},
		{"POST", lab.ResponsesPath, of(`"store":false,"conversation":{"id":"conv_1"}`)},
		{"POST", lab.ResponsesPath, of(`"store":false,"background":true`)},
		{"POST", lab.ResponsesPath, `{"model":"gpt-oss-120b","store":false,"input":[{"role":"user","content":"Hi"},` +
			`{"type":"item_reference","id":"msg_1"}]}`},
		{"POST", lab.ResponsesPath + "/input_tokens", of(`"previous_response_id":"resp_1"`)},
		{"GET", lab.ResponsesPath + "/resp_1?stream=true&starting_after=3&answer=events", ""},
		{"GET", lab.ResponsesPath + "/resp_1/input_items?limit=2&order=asc", ""},
		{"DELETE", lab.ResponsesPath + "/resp_1?answer=empty", ""},
		{"POST", lab.ResponsesPath + "/resp_1/cancel?answer=error", ""},
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
		out = append(out, routed{"POST", lab.ResponsesPath + "?answer=length",
			of(`"store":false,"tools":[{"type":"function",` +
				`"name":"f"},` + tool + `]`)})
	}
	return out
}

// TestRouting shows that a request that needs stored state or hosted tools reaches the responses service unchanged, and
// its answer the client. All other requests go to the model's server, and no header of a client changes that.
func TestRouting(t *testing.T) {
	gpu, url := lab.RunSim(t, sim.Options{})
	service := lab.RunCapture(t)
	for _, host := range routingHosts(t, func() *config.Config {
		c := lab.OneModel(url)
		c.ResponsesService.URL = "http://" + service.Address
		return c
	}) {
		clients := map[string]*http.Client{"HTTP/1.1": lab.HTTP1(t)}
		if host.Name != "native" {
			clients["HTTP/2"] = lab.HTTP2(t)
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
					checkRouted(t, service, r, lab.Do(client, r.method, host.URL+r.target, clientsHeaders(), body))
				}
				if n := len(gpu.Requests()); n != before {
					t.Fatalf("%d requests have reached the model's server", n-before)
				}
				notRouted(t, client, host.URL)
				if seen := service.Take(); len(seen) != 0 {
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
		"X-Harmony-Internal-Pool": {lab.Model},
	}
}

// checkRouted holds what the service got against what was sent, and the answer against what it sent.
func checkRouted(t *testing.T, service *lab.Capture, r routed, a lab.Answer) {
	t.Helper()
	name := r.method + " " + r.target + " " + r.body[:min(len(r.body), 200)]
	seen := service.Take()
	if len(seen) != 1 {
		t.Fatalf("%s: %d requests have reached the service; %d %s %v", name, len(seen), a.Status, a.Body, a.Err)
	}
	got := seen[0]
	if want := r.method + " " + r.target + " HTTP/1.1"; got.Head[0] != want {
		t.Errorf("%s: came as %s", name, got.Head[0])
	}
	if string(got.Body) != r.body {
		t.Errorf("%s: the body came as %.200q", name, got.Body)
	}
	for _, want := range []string{"authorization: bearer secret", "x-tenant: acme", "x-harmony-strict: 1"} {
		if !slices.ContainsFunc(got.Head, func(line string) bool { return strings.EqualFold(line, want) }) {
			t.Errorf("%s: came without %s:\n%s", name, want, got)
		}
	}
	if slices.ContainsFunc(got.Head, func(line string) bool {
		return strings.HasPrefix(strings.ToLower(line), contract.InternalHeaderPrefix)
	}) {
		t.Errorf("%s: an internal header came through:\n%s", name, got)
	}
	status, head, body := lab.CaptureParts(got)
	if a.Err != nil || fmt.Sprint(a.Status) != status || a.Body != body {
		t.Errorf("%s: the client got %d %q (%v), want %s %q", name, a.Status, a.Body, a.Err, status, body)
	}
	for _, line := range head {
		if name, value, _ := strings.Cut(line, ":"); !slices.Contains(a.Header.Values(name), strings.TrimSpace(value)) {
			t.Errorf("%s: the client got %v, want %s", r.target, a.Header, line)
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
		{routed{"POST", lab.ResponsesPath, `{"model":"gpt-oss-120b","input":"Hi","store":false}`}, 200, "You said: Hi"},
		{routed{"POST", lab.ResponsesPath, `{"model":"gpt-oss-120b","input":"Hi","store":false,"tools":[{"type":"function",` +
			`"name":"f"},{"type":"custom","name":"g"}]}`}, 200, `"object":"response"`},
		{routed{"POST", lab.ChatPath, lab.ChatBody(lab.Model, "Hi")}, 200, "You said: Hi"},
		{routed{"POST", lab.ResponsesPath + "/input_tokens", `{"model":"gpt-oss-120b","input":"Hi"}`}, 200,
			`"input_tokens":`},
		{routed{"POST", lab.ResponsesPath, `{"model":"gpt-oss-120b","input":"Hi","prompt":{"id":"p"},"store":false}`}, 400,
			"unsupported_parameter"},
		{routed{"POST", lab.ResponsesPath, `{"model":"other","input":"Hi","previous_response_id":"r"}`}, 404,
			"model_not_found"},
		{routed{"POST", lab.ResponsesPath, `{"model":"gpt-oss-120b","input":"Hi","previous_response_id":"r"`}, 400,
			"invalid_json"},
		{routed{"POST", lab.ResponsesPath, `{"model":"gpt-oss-120b","input":"` + strings.Repeat("x", 1<<20) + `"}`}, 413,
			"request_too_large"},
		{routed{"POST", lab.RawPath, `{"model":"gpt-oss-120b","prompt":"Hi"}`}, 403, "raw_prompt_not_allowed"},
		{routed{"GET", "/v1/models/gpt-oss-120b", ""}, 200, `"object":"model"`},
	} {
		a := lab.Do(client, r.method, base+r.target, header, strings.NewReader(r.body))
		if a.Err != nil || a.Status != r.status || !strings.Contains(a.Body, r.holds) {
			t.Errorf("%s %s %.200s: %d %s %v", r.method, r.target, r.body, a.Status, a.Body, a.Err)
		}
	}
	// Unknown paths lead nowhere, with such a header too.
	for _, path := range []string{"/v1/embeddings", lab.ResponsesPath + "/resp_1/output", "/v1/conversationsx"} {
		if a := lab.Do(client, http.MethodPost, base+path, header, strings.NewReader("{}")); a.Status != 404 {
			t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}

// TestRoutingWantsTheFilter shows that no client reaches the service without the filter.
func TestRoutingWantsTheFilter(t *testing.T) {
	service := lab.RunCapture(t)
	c := lab.OneModel("http://127.0.0.1:1")
	c.ResponsesService.URL = "http://" + service.Address
	host := lab.RunEnvoy(t, c, lab.WithoutFilter)
	header := http.Header{"X-Harmony-Internal-Pool": {config.ResponsesPool}}
	for _, r := range beyondOneAnswer() {
		if len(r.body) > 1<<20 {
			continue // the answer need not wait for it
		}
		if a := lab.Do(lab.HTTP1(t), r.method, host.URL+r.target, header, strings.NewReader(r.body)); a.Status != 404 &&
			a.Status != 503 {
			t.Errorf("%s %s: %d %s", r.method, r.target, a.Status, a.Body)
		}
	}
	if seen := service.Take(); len(seen) != 0 {
		t.Errorf("the service got %s", seen[0])
	}
}

// TestRoutingParts: a service takes what it is said to take, and the rest is as without one.
func TestRoutingParts(t *testing.T) {
	no := false
	_, url := lab.RunSim(t, sim.Options{})
	service, other := lab.RunCapture(t), lab.RunCapture(t)
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
			c := lab.OneModel(url)
			c.ResponsesService.URL, c.Passthrough = "http://"+service.Address, "http://"+other.Address
			tt.configure(c)
			return c
		}) {
			t.Run(tt.name+"/"+host.Name, func(t *testing.T) {
				reached := func(a lab.Answer) string {
					switch {
					case len(service.Take()) == 1:
						return "service"
					case len(other.Take()) == 1:
						return "other"
					case a.Status == 200:
						return "model"
					}
					return a.ErrorCode()
				}
				client := lab.HTTP1(t)
				if got := reached(lab.Ask(client, host.URL+lab.ResponsesPath, previous)); got != tt.previous {
					t.Errorf("goes on from another: %s, want %s", got, tt.previous)
				}
				if got := reached(lab.Ask(client, host.URL+lab.ResponsesPath, search)); got != tt.search {
					t.Errorf("searches: %s, want %s", got, tt.search)
				}
				if got := reached(lab.Do(client, http.MethodGet, host.URL+lab.ResponsesPath+"/resp_1", nil, nil)); got != tt.saved {
					t.Errorf("saved: %s, want %s", got, tt.saved)
				}
			})
		}
	}
}

// TestRoutingComesBack: what the service asks the model for by way of the gateway is answered there, and does not come
// round again.
func TestRoutingComesBack(t *testing.T) {
	gpu, url := lab.RunSim(t, sim.Options{})
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
			r.Context(), http.MethodPost, *gateway.Load()+lab.ResponsesPath, strings.NewReader(stateless))
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
		c := lab.OneModel(url)
		c.ResponsesService.URL = service.URL
		return c
	}) {
		t.Run(host.Name, func(t *testing.T) {
			gateway.Store(&host.URL)
			asked.Store(0)
			before := len(gpu.Requests())
			a := lab.Ask(lab.HTTP1(t), host.URL+lab.ResponsesPath,
				`{"model":"gpt-oss-120b","input":"a time","stream":true,"previous_response_id":"resp_1"}`)
			if _, err := grammar.ReadResponses(a.Body, false); err != nil || a.Status != 200 ||
				!strings.Contains(a.Body, "You said: a time") {
				t.Errorf("%v: %+v", err, a)
			}
			if n := len(gpu.Requests()) - before; asked.Load() != 1 || n != 1 {
				t.Errorf("the service was asked %d times, the model %d", asked.Load(), n)
			}
		})
	}
}
