//go:build e2e

package controlplane

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestStatsListener: an Envoy that found its control plane by a name serves its statistics to others, and nothing else
// of its admin interface.
func TestStatsListener(t *testing.T) {
	_, server := lab.RunSim(t, sim.Options{})
	p := startPlane(t, planeSettings{servers: []string{server}})
	_, port, err := net.SplitHostPort(p.xds)
	if err != nil {
		t.Fatal(err)
	}
	edge, address := lab.StartEdge(t, lab.EdgeBootstrap(t, "localhost:"+port, "edge-1", "--admin", lab.FreeAddress(t),
		"--stats", "127.0.0.1:0"))
	if a := lab.AskChat(lab.HTTP1(t), "http://"+address); a.Status != 200 {
		t.Fatalf("got %+v", a)
	}
	stats, err := edge.Listener(t.Context(), "harmony-stats")
	if err != nil {
		t.Fatal(err)
	}
	servesStatsOnly(t, stats)
}

// TestUpStats: harmony up's own Envoy does the same, and so does the configuration that it prints. Without Envoy there
// is nothing to be served.
func TestUpStats(t *testing.T) {
	_, server := lab.RunSim(t, sim.Options{})
	of := []string{"--model", lab.Model, "--backend", "vllm=" + server, "--stats", "127.0.0.1:0"}
	up, url := lab.StartUp(t, append(of, "--host", "envoy", "--admin", lab.FreeAddress(t))...)
	if a := lab.AskChat(lab.HTTP1(t), url); a.Status != 200 {
		t.Fatalf("got %+v", a)
	}
	_, line, _ := strings.Cut(up.Stdout.String(), "\nstatistics: http://")
	stats, _, said := strings.Cut(line, "/stats/prometheus\n")
	if !said {
		t.Fatalf("it does not say where the statistics are: %s", &up.Stdout)
	}
	servesStatsOnly(t, stats)
	up.Stop(t, syscall.SIGINT)

	file := filepath.Join(t.TempDir(), "harmony.yaml")
	if err := os.WriteFile(file, []byte("admin: 127.0.0.1:9901\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wazero := lab.RunHarmony(t, nil, append([]string{
		"up", "--host", "wazero", "--wasm", lab.Tool(t, "HARMONY_WASM"), "--config", file}, of...)...)
	if !wazero.Ended(lab.StopLimit) || wazero.ExitCode(t) != 2 ||
		!strings.Contains(wazero.Stderr.String(), "--stats is for Envoy") {
		t.Errorf("without Envoy: %v, want exit status 2 and the flag's name", wazero.Err)
	}
	whole := lab.RunHarmony(t, nil, append([]string{
		"up", "--print-bootstrap", "--wasm", lab.Tool(t, "HARMONY_WASM"), "--admin", "127.0.0.1:9901"}, of...)...)
	if !whole.Ended(lab.StopLimit) || whole.ExitCode(t) != 0 ||
		!strings.Contains(whole.Stdout.String(), `"path": "/stats/prometheus"`) {
		t.Errorf("the whole configuration: %v %s", whole.Err, &whole.Stdout)
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
		a := lab.ReadAnswer(response)
		if a.Err != nil || a.Status != tt.status || tt.status == 200 && !strings.Contains(a.Body, "harmony_requests_total{") {
			t.Errorf("%s %s: %d (%v), want %d; %.200s", tt.method, tt.path, a.Status, a.Err, tt.status, a.Body)
		}
	}
}
