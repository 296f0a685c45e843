//go:build e2e

package hardening

import (
	"os"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestDeployment types the sessions of docs/deployment.md, one after the other, with its config.yaml. Both machines are
// this one.
func TestDeployment(t *testing.T) {
	const page = "docs/deployment.md"
	text, err := os.ReadFile(lab.File(page))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	config, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatalf("%s has no config.yaml", page)
	}
	var all lab.Session
	for _, heading := range []string{"## Certificates", "## Keys", "## Control plane and service", "## Envoy",
		"## Check it"} {
		session := lab.ReadSession(t, page, heading)
		all.Typed += session.Typed
		all.Shown += session.Shown
	}
	all.Typed += "cat status.txt *.log >&2; kill %1 %2 %3\n"

	_, url := lab.RunSim(t, sim.Options{})
	wasm := lab.Tool(t, "HARMONY_WASM")
	edge, xds, status, service := port(t), port(t), port(t), port(t)
	files := map[string]string{"config.yaml": strings.NewReplacer("http://10.0.0.20:8000", url,
		"0.0.0.0:8443", "127.0.0.1:"+edge, "10.0.0.7:8443", "127.0.0.1:"+edge, "10.0.0.5:8090", "127.0.0.1:"+service,
		"openai/gpt-oss-120b", lab.Model, "postgres://127.0.0.1/harmony",
		lab.StartPostgres(t).Database("deployment")).Replace(config)}
	runTyped(t, &all, files,
		"10.0.0.7:8443", "127.0.0.1:"+edge, "10.0.0.5:18000", "127.0.0.1:"+xds,
		"IP:10.0.0.5", "IP:127.0.0.1", "IP:10.0.0.7", "IP:127.0.0.1",
		"controlplane --config", "controlplane --wasm "+wasm+" --state none --status 127.0.0.1:"+status+" --config",
		"harmony status", "harmony status --address 127.0.0.1:"+status,
		"harmony responses --config", "harmony responses --status 127.0.0.1:0 --config",
		"bootstrap --control-plane", "bootstrap --admin 127.0.0.1:0 --control-plane")
}
