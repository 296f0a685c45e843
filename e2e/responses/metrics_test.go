//go:build e2e

package responses

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// awaitText polls a URL until it is answered with a text.
func awaitText(t *testing.T, url, text string) {
	t.Helper()
	for end, client := time.Now().Add(lab.Patience), lab.HTTP1(t); ; time.Sleep(20 * time.Millisecond) {
		body := lab.Do(client, "GET", url, nil, nil).Body
		if strings.Contains(body, text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s has no %s:\n%s", url, text, body)
		}
	}
}

// TestMetrics reads what a replica tells of itself: its metrics, that it lives, and its access log.
func TestMetrics(t *testing.T) {
	log := filepath.Join(t.TempDir(), "access.json")
	f := startFleet(t, "wazero", "", "  access_log: "+log, 1, sim.Options{Keep: 100, Script: answers()})
	one := f.Create(`"input":"first question"`)
	f.Create(`"input":"second question","previous_response_id":"` + one.ID + `"`)
	url := f.replicas[0].Announced(t, `(?m)^metrics: (\S+)$`)
	for _, want := range []string{
		`harmony_responses_requests_total{route="POST /v1/responses",status="200"} 2` + "\n",
		`harmony_responses_responses_total{status="completed"} 2` + "\n",
		"harmony_responses_chain_turns_count 1\n", "harmony_responses_store_up 1\n", "go_goroutines ",
		"process_cpu_seconds_total ",
	} {
		awaitText(t, url, want)
	}
	awaitText(t, strings.TrimSuffix(url, "metrics")+"healthz", "ok\n")
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var line struct {
		RequestID  string `json:"request_id"`
		Route      string
		Status     int
		DurationMS *int   `json:"duration_ms"`
		Model      string `json:"harmony_model"`
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err := json.Unmarshal([]byte(lines[0]), &line); err != nil || len(lines) != 2 || line.RequestID == "" ||
		line.Route != "POST /v1/responses" || line.Status != 200 || line.DurationMS == nil || line.Model != lab.Model {
		t.Errorf("%v: %s", err, text)
	}
	for _, secret := range []string{"question", "answer one", one.ID} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the access log has %q: %s", secret, text)
		}
	}
}

// TestMetricsOfControlPlane: a control plane that runs the service shows its metrics among its own.
func TestMetricsOfControlPlane(t *testing.T) {
	_, serverURL := lab.RunSim(t, sim.Options{Script: answers()})
	text := fmt.Sprintf("listen: %s\nresponses_service: {store: %s, listen: '%s'}\nmodels: [{name: %s, servers: ['vllm=%s']}]\n",
		lab.FreeAddress(t), filepath.Join(t.TempDir(), "responses.db"), lab.FreeAddress(t), lab.Model, serverURL)
	file := lab.WriteConfig(t, text)
	plane := lab.RunHarmony(t, nil, "controlplane", "--config", file, "--listen", "127.0.0.1:0", "--status", "127.0.0.1:0",
		"--state", "none", "--wasm", lab.Tool(t, "HARMONY_WASM"))
	url := strings.TrimSuffix(plane.Announced(t, `(?m)^status: (\S+)$`), "status") + "metrics"
	awaitText(t, url, "harmony_responses_store_up 1\n")
	awaitText(t, url, "harmony_controlplane_config_valid 1\n")
}
