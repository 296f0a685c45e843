//go:build e2e && mesh

package mesh

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestEnvoyGatewayProgram applies what the program prints, in both forms, and checks the gateway with the program.
func TestEnvoyGatewayProgram(t *testing.T) {
	for name, fetched := range map[string]bool{"patch": false, "extension and patch": true} {
		t.Run(name, func(t *testing.T) {
			_, url := lab.RunSim(t, sim.Options{})
			c := lab.OneModel(url)
			h := lab.RunEnvoyGateway(t, c, hosts.EnvoyGateway{Fetched: fetched, Edit: func(objects string) string {
				return printedGateway(t, c.Listen, url, objects)
			}})
			chat(t, h.URL)
			table := program(t, 0, "mesh", "check", h.URL)
			if strings.Count(table, "ok  ") != 5 {
				t.Errorf("not all is ok:\n%s", table)
			}
		})
	}
}

// printedGateway returns what harmony mesh envoy-gateway prints for one model at a server. The module is that of other
// objects.
func printedGateway(t *testing.T, listen, server, objects string) string {
	t.Helper()
	module := []string{"--module", "file://" + lab.Tool(t, "HARMONY_WASM")}
	if _, after, ok := strings.Cut(objects, "url: "); ok {
		url, rest, _ := strings.Cut(after, "\n")
		hash, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(rest), "sha256: "), "\n")
		module = []string{"--module", url, "--module-sha256", strings.Trim(hash, `"`)}
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "listen: " + listen + "\nmodels:\n  - name: " + lab.Model + "\n    servers: [vllm=" + server + "]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return program(t, 0, append([]string{"mesh", "envoy-gateway", "--config", file}, module...)...)
}

// TestEnvoyGatewayLosesAPatch: a patch that does not fit is left out without an error of the others. Where it is the
// one that lets headers be held, requests get an error within seconds, and the program's check says what is missing.
func TestEnvoyGatewayLosesAPatch(t *testing.T) {
	gpu, url := lab.RunSim(t, sim.Options{})
	h := lab.RunEnvoyGateway(t, lab.OneModel(url), hosts.EnvoyGateway{Fetched: true, Edit: func(objects string) string {
		return strings.Replace(objects, "path: allow_on_headers_stop_iteration", "path: field_of_the_future", 1)
	}})
	a := lab.Do(lab.HTTP1(t), "POST", h.URL+lab.ChatPath, nil, strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
	lab.WantRefused(t, a, http.StatusInternalServerError, "gateway_misconfigured")
	if table := program(t, 1, "mesh", "check", h.URL); !strings.Contains(table, "may have dropped it") {
		t.Errorf("the check does not say what is missing:\n%s", table)
	}
	if n := len(lab.Completions(gpu)); n != 0 {
		t.Errorf("%d requests reached the server", n)
	}
}
