package e2e

import (
	"bytes"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/sim"
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
	if response, body := post(t, "http://"+address+chatPath, chat(caseModel, "Hello")); response.StatusCode != 200 {
		t.Fatalf("%d %s", response.StatusCode, body)
	}
	stats, err := edge.Listener(t.Context(), "harmony-stats")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/stats/prometheus", 200}, {"GET", "/stats/prometheus?usedonly", 200},
		{"POST", "/stats/prometheus", 404}, {"HEAD", "/stats/prometheus", 404}, {"GET", "/stats", 404}, {"GET", "/", 404}, {"GET", "/config_dump", 404},
		{"GET", "/stats/prometheus/../../config_dump", 404}, {"GET", "//stats/prometheus", 404}, {"GET", "/stats%2fprometheus", 404},
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
