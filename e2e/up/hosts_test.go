//go:build e2e

package up

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy/mesh/check"
	"github.com/harmonyedge/harmonyedge/sim"
)

// startShop starts a server that is no model's. It answers with the request that it has got.
func startShop(t *testing.T) *httptest.Server {
	t.Helper()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
	}))
	t.Cleanup(shop.Close)
	return shop
}

func portOf(url string) string { return url[strings.LastIndexByte(url, ':')+1:] }

// TestSeveralHosts serves two hosts beside the models' on one listener of a real Envoy, one of them with the setting of
// docs/envoy.md that disables the filter. Its requests come as they were sent. The filter answers the requests of the
// other.
func TestSeveralHosts(t *testing.T) {
	_, model := lab.RunSim(t, sim.Options{Models: []string{"openai/gpt-oss-120b"}})
	shop := startShop(t)
	page, err := os.ReadFile(lab.File("docs/envoy.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(page), "virtual_hosts:\n  - name: shop\n")
	block, _, ends := strings.Cut(block, "```")
	if !found || !ends {
		t.Fatal("docs/envoy.md does not show the setting")
	}
	disabled := strings.ReplaceAll("  - name: shop\n"+block, "\n  ", "\n"+strings.Repeat(" ", 20))
	disabled = strings.Repeat(" ", 18) + disabled
	text, err := os.ReadFile(lab.File("examples/envoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config := string(text)
	const own = "                    - name: harmony\n                      domains"
	for _, r := range []struct{ old, new string }{
		{"address: localhost, port_value: 8000", "address: 127.0.0.1, port_value: " + portOf(model)},
		{"address: 127.0.0.1, port_value: 8080", "address: 127.0.0.1, port_value: 0"},
		{"dist/harmony-filter.wasm", lab.Tool(t, "HARMONY_WASM")},
		{"static_resources:\n", "admin: { address: { socket_address: { address: 127.0.0.1, port_value: 0 } } " +
			"}\nstatic_resources:\n"},
		{own, disabled + "                    - { name: other, domains: [other.example.com], " +
			"routes: [{ match: { prefix: / }, route: " +
			"{ cluster: shop } }] }\n" + own},
		{"  clusters:\n", "  clusters:\n    - { name: shop, type: STATIC, load_assignment: { cluster_name: shop, " +
			"endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: " +
			portOf(shop.URL) + " } } } }] }] } }\n"},
	} {
		if strings.Count(config, r.old) != 1 {
			t.Fatalf("%q is not there once", r.old)
		}
		config = strings.Replace(config, r.old, r.new, 1)
	}
	envoy := lab.StartEnvoy(t, []byte(config))
	address, err := envoy.Listener(t.Context(), "clients")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(host, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+lab.ChatPath,
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		got, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(got)
	}
	const body = `{ "model": "basket" }`
	if status, got := ask("shop.example.com", body); status != 200 || got != "POST "+lab.ChatPath+" "+body {
		t.Errorf("without the filter: %d %s", status, got)
	}
	if status, got := ask("other.example.com", body); status != 404 || !strings.Contains(got, "model_not_found") {
		t.Errorf("with the filter: %d %s", status, got)
	}
	if status, got := ask("models.example.com", lab.ChatBody(lab.Model, "Hello")); status != 200 ||
		!strings.Contains(got, "You said: Hello") {
		t.Errorf("the models' host: %d %s", status, got)
	}
	checks, err := check.Gateway(t.Context(), check.Options{URL: "http://" + address, Model: lab.Model,
		Admin: "http://" + envoy.Admin()})
	if err != nil {
		t.Fatal(err)
	}
	warned := false
	for _, c := range checks {
		warned = warned || c.Result == check.Warn && strings.HasPrefix(c.Detail, "other, harmony: it answers /v1/")
	}
	if !warned {
		t.Errorf("the check does not name the hosts: %+v", checks)
	}
}
