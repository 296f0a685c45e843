package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/sim"
)

// memoryOf gives the filter's VMs a limit that no operator could set.
func memoryOf(limit string) change {
	const setting = `"memory_limit":268435456`
	return func(t *testing.T, r *xds.Resources) {
		editManager(t, r, func(m *hcmv3.HttpConnectionManager) {
			packed := m.HttpFilters[0].GetTypedConfig()
			// The same length, or the bytes around it would have to change too.
			small := `"memory_limit":` + limit + strings.Repeat(" ", len(setting)-len(`"memory_limit":`)-len(limit))
			if !bytes.Contains(packed.Value, []byte(setting)) {
				t.Fatalf("no %s in the filter's configuration", setting)
			}
			packed.Value = bytes.Replace(packed.Value, []byte(setting), []byte(small), 1)
		})
	}
}

// TestMemoryLimit: a VM over its limit refuses new requests, and lets those that run go on.
func TestMemoryLimit(t *testing.T) {
	gpu, url := runSim(t, sim.Options{TokensPerSecond: 50})
	h := runEnvoy(t, oneModel(url), memoryOf("1"))
	client := http1(t)
	running := make(chan answer, 1)
	go func() {
		running <- do(client, http.MethodPost, h.URL+chatPath, nil, strings.NewReader(chatBody(caseModel, "Hi")))
	}()
	if _, err := gpu.Await(t.Context(), func(r []sim.Request) bool { return len(r) > 0 }); err != nil {
		t.Fatal(err)
	}
	// The heap is looked at by a timer: requests are let through until it has run.
	deadline := time.Now().Add(patience)
	for {
		a := do(client, http.MethodPost, h.URL+chatPath, nil, strings.NewReader(`{"max_tokens":1,`+chatBody(caseModel, "Hi")[1:]))
		if a.status == http.StatusServiceUnavailable {
			refused(t, a, http.StatusServiceUnavailable, "gateway_overloaded")
			if a.header.Get("retry-after") != "1" {
				t.Errorf("retry-after %q", a.header.Get("retry-after"))
			}
			break
		}
		if a.err != nil || a.status != http.StatusOK || time.Now().After(deadline) {
			t.Fatalf("got %d %s %v", a.status, a.body, a.err)
		}
	}
	if a := <-running; a.err != nil || a.status != http.StatusOK {
		t.Errorf("the stream that ran: %d %s %v", a.status, a.body, a.err)
	}
}
