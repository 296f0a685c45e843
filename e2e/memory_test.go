package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/sim"
)

// spokenLimit is written into the filter's configuration, which the default is not.
const spokenLimit = 200 << 20

// memoryOf gives the filter's VMs a limit that no operator could set, in place of spokenLimit.
func memoryOf(limit string) change {
	setting := fmt.Sprintf(`"memory_limit":%d`, spokenLimit)
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
	c := oneModel(url)
	c.MemoryLimit = spokenLimit
	h := runEnvoy(t, c, memoryOf("1"))
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

// TestManyCalls: histories of many small objects, which a collector minds more than their size, hold no worker for
// long and leave no heap that grows from one to the next.
func TestManyCalls(t *testing.T) {
	_, url := runSim(t, sim.Options{Keep: -1, MaxModelLen: 1 << 20})
	c := oneModel(url)
	c.Models[0].ContextLength = 1 << 20
	h := runEnvoy(t, c)
	client := http1(t)
	history := func(calls int) string {
		var b strings.Builder
		b.WriteString(`{"model":"` + caseModel + `","messages":[{"role":"assistant","tool_calls":[`)
		for i := range calls {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"id":"call_%d","type":"function","function":{"name":"f","arguments":"{}"}}`, i)
		}
		return b.String() + `]}]}`
	}
	for _, calls := range []int{12_000, 9_000, 10_000, 12_000, 8_000, 8_000, 8_000, 8_000} {
		began := time.Now()
		a := do(client, http.MethodPost, h.URL+chatPath, nil, strings.NewReader(history(calls)))
		if a.err != nil || a.status != http.StatusOK {
			t.Fatalf("%d calls: %d %.300s %v", calls, a.status, a.body, a.err)
		}
		if took := time.Since(began); took > tooLong {
			t.Errorf("%d calls held the worker for %s", calls, took)
		}
	}
	kib, err := hosts.ResidentKiB(h.Process.PID())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("Envoy has %d MiB in use", kib>>10)
	if kib > 400<<10 {
		t.Errorf("Envoy has %d MiB in use", kib>>10)
	}
}
