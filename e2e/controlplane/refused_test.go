//go:build e2e

package controlplane

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestControlPlaneRefused: an Envoy that cannot have the filter says so to the control plane, and to clients, and lets
// nothing through.
func TestControlPlaneRefused(t *testing.T) {
	gpu, url := lab.RunSim(t, sim.Options{})
	folder := t.TempDir()
	for name, text := range map[string]string{
		"config.yaml": fmt.Sprintf("listen: 127.0.0.1:0\nmodels: [{name: %s, pool: gpus}]\npools: [{name: gpus, servers: "+
			"[\"%s\"]}]\n", lab.Model, url),
		"filter.wasm": "this is no module",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := lab.RunHarmony(t, nil, "controlplane", "--config", filepath.Join(folder, "config.yaml"), "--listen",
		"127.0.0.1:0",
		"--status", "127.0.0.1:0", "--state", "none", "--wasm-on-envoys", filepath.Join(folder, "filter.wasm"))
	xds, status := program.Announced(t, `serving Envoys on (\S+)\n`), program.Announced(t, `status: http://(\S+)/status\n`)
	_, address := lab.StartEdge(t, lab.EdgeBootstrap(t, xds, "edge-1"))
	if a := lab.AskChat(lab.HTTP1(t), "http://"+address); a.Status != http.StatusServiceUnavailable ||
		a.ErrorCode() != "gateway_misconfigured" {
		t.Errorf("got %+v", a)
	}
	if n := len(lab.Completions(gpu)); n != 0 {
		t.Errorf("%d requests have reached the server", n)
	}
	for end := time.Now().Add(lab.Patience); ; {
		said := lab.RunHarmony(t, nil, "status", "--address", status)
		if !said.Ended(lab.Patience) {
			t.Fatal("harmony status does not end")
		}
		if said.ExitCode(t) == 1 && strings.Contains(said.Stdout.String(), "refuses extensions: ") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the refusal is not told:\n%s%s", &said.Stdout, &said.Stderr)
		}
	}
	response, err := http.Get("http://" + status + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(metrics),
		`harmony_controlplane_responses_total{result="refused",type="extensions"} 1`) {
		t.Errorf("the refusal is not counted (%v):\n%s", err, metrics)
	}
}
