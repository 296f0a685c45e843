//go:build e2e

package up

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/envoy"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestOwnEnvoy puts the filter into an operator's envoy.yaml with harmony mesh envoy, for a host that is there and for a
// new one, and runs what it prints. The other host's requests come as they were sent.
func TestOwnEnvoy(t *testing.T) {
	simulator, model := lab.RunSim(t, sim.Options{Models: []string{"openai/gpt-oss-120b"}})
	shop := startShop(t)
	folder := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text, err := os.ReadFile(lab.File("envoy/mesh/ownenvoy/testdata/envoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	const address = "address: 10.0.0.7, port_value: 8000"
	if !strings.Contains(string(text), address) {
		t.Fatal("the file has another server")
	}
	own := write("envoy.yaml", "admin: { address: { socket_address: { address: 127.0.0.1, port_value: 0 } } }\n"+
		strings.Replace(string(text), address, "address: 127.0.0.1, port_value: "+portOf(shop.URL), 1))
	config := write("config.yaml", "models: [{name: "+lab.Model+", server_model: openai/gpt-oss-120b, servers: ['vllm="+
		model+"']}]\n")
	var gateways []*gateway
	for _, domain := range []string{"models.example.com", "new.example.com"} {
		command := exec.CommandContext(t.Context(), lab.Tool(t, "HARMONY_BIN"), "mesh", "envoy", own, "--config", config,
			"--module", "file://"+lab.Tool(t, "HARMONY_WASM"), "--domain", domain, "--merge")
		command.Stderr = os.Stderr
		merged, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		g := &gateway{Process: lab.StartEnvoy(t, merged), domain: domain}
		gateways = append(gateways, g)
		const basket = `{"model":"basket"}`
		g.expect(t, "shop.example.com", lab.ChatPath, basket, http.StatusOK, "POST "+lab.ChatPath+" "+basket)
		g.expect(t, domain, lab.ChatPath, lab.ChatBody(lab.Model, "Hello"), http.StatusOK, "You said: Hello")
		// A client's own prompt stays out, although it has the header of the pool's route.
		g.expect(t, domain, lab.RawPath, `{"model":"`+lab.Model+`","prompt":[1]}`, http.StatusForbidden, "error")
	}
	gateways[0].expect(t, "models.example.com", "/mine", "", http.StatusOK, "POST /mine ") // by the host's own route
	gateways[1].expect(t, "new.example.com", "/mine", "", http.StatusNotFound, "unknown_url")
	shop.Close()
	simulator.Close()
	for _, g := range gateways { // Envoy's own errors have OpenAI's shape for the models alone
		g.expect(t, g.domain, lab.ChatPath, lab.ChatBody(lab.Model, "Hello"), http.StatusServiceUnavailable,
			`"code":"server_unavailable"`)
		g.expect(t, "shop.example.com", "/", "", http.StatusServiceUnavailable, "upstream connect error")
	}
}

// gateway is an Envoy with the models on this domain.
type gateway struct {
	*envoy.Process
	domain string
}

// expect posts a body to a host, with the internal header of the pool.
func (g *gateway) expect(t *testing.T, host, path, body string, status int, want string) {
	t.Helper()
	address, err := g.Listener(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("X-Harmony-Internal-Pool", lab.Model)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != status || !strings.Contains(string(got), want) {
		t.Errorf("%s%s at the gateway for %s: %d %s, want %d %s", host, path, g.domain, answer.StatusCode, got, status, want)
	}
}
