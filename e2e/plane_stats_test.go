//go:build e2e

package e2e

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/sim"
)

// TestStatsListener: an Envoy that found its control plane by a name serves its statistics to others, and nothing else of its
// admin interface.
func TestStatsListener(t *testing.T) {
	_, server := runSim(t, sim.Options{})
	p := startPlane(t, planeSettings{servers: []string{server}})
	_, port, err := net.SplitHostPort(p.xds)
	if err != nil {
		t.Fatal(err)
	}
	edge, address := startPlaneEnvoy(t, "localhost:"+port, "edge-1", "--admin", freeAddress(t), "--stats", "127.0.0.1:0")
	if response, body := post(t, "http://"+address+chatPath, chatBody(caseModel, "Hello")); response.StatusCode != 200 {
		t.Fatalf("%d %s", response.StatusCode, body)
	}
	stats, err := edge.Listener(t.Context(), "harmony-stats")
	if err != nil {
		t.Fatal(err)
	}
	servesStatsOnly(t, stats)
}

// TestUpStats: harmony up's own Envoy does the same, and so does the configuration that it prints. Without Envoy there is nothing to be served.
func TestUpStats(t *testing.T) {
	_, server := runSim(t, sim.Options{})
	of := []string{"--model", caseModel, "--backend", "vllm=" + server, "--stats", "127.0.0.1:0"}
	up, url := startUp(t, append(of, "--host", "envoy", "--admin", freeAddress(t))...)
	if response, body := post(t, url+chatPath, chatBody(caseModel, "Hello")); response.StatusCode != 200 {
		t.Fatalf("%d %s", response.StatusCode, body)
	}
	_, line, _ := strings.Cut(up.stdout.String(), "\nstatistics: http://")
	stats, _, said := strings.Cut(line, "/stats/prometheus\n")
	if !said {
		t.Fatalf("it does not say where the statistics are: %s", &up.stdout)
	}
	servesStatsOnly(t, stats)
	up.stop(t, syscall.SIGINT)

	file := filepath.Join(t.TempDir(), "harmony.yaml")
	if err := os.WriteFile(file, []byte("admin: 127.0.0.1:9901\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wazero := runHarmony(t, nil, append([]string{
		"up", "--host", "wazero", "--wasm", tool(t, "HARMONY_WASM"), "--config", file}, of...)...)
	if !wazero.ended(upStop) || wazero.exitCode(t) != 2 ||
		!strings.Contains(wazero.stderr.String(), "--stats is for Envoy") {
		t.Errorf("without Envoy: %v, want exit status 2 and the flag's name", wazero.err)
	}
	whole := runHarmony(t, nil, append([]string{
		"up", "--print-bootstrap", "--wasm", tool(t, "HARMONY_WASM"), "--admin", "127.0.0.1:9901"}, of...)...)
	if !whole.ended(upStop) || whole.exitCode(t) != 0 ||
		!strings.Contains(whole.stdout.String(), `"path": "/stats/prometheus"`) {
		t.Errorf("the whole configuration: %v %s", whole.err, &whole.stdout)
	}
}

// servesStatsOnly asks an address for the statistics, and for what else an admin interface has.
func servesStatsOnly(t *testing.T, stats string) {
	t.Helper()
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/stats/prometheus", 200}, {"GET", "/stats/prometheus?usedonly", 200},
		{"POST", "/stats/prometheus", 404}, {"HEAD", "/stats/prometheus", 404}, {"GET", "/stats", 404}, {"GET", "/", 404},
		{"GET", "/config_dump", 404},
		{"GET", "/stats/prometheus/../../config_dump", 404}, {"GET", "//stats/prometheus", 404},
		{"GET", "/stats%2fprometheus", 404},
		{"POST", "/quitquitquit", 404}, {"POST", "/healthcheck/fail", 404}, {"POST", "/reset_counters", 404},
	} {
		request, err := http.NewRequest(tt.method, "http://"+stats, nil)
		if err != nil {
			t.Fatal(err)
		}
		path, query, _ := strings.Cut(tt.path, "?")
		request.URL.Opaque, request.URL.RawQuery = "//"+stats+path, query // as it is written
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body := readAll(t, response)
		if response.StatusCode != tt.status || tt.status == 200 && !bytes.Contains(body, []byte("harmony_requests_total{")) {
			t.Errorf("%s %s: %d, want %d; %.200s", tt.method, tt.path, response.StatusCode, tt.status, body)
		}
	}
}
