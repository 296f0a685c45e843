//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/harmonyedge/harmonyedge/controlplane/xds"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/sim"
)

// spokenLimit is written into the filter's configuration, which the default is not.
const spokenLimit = 200 << 20

// memoryOf gives the filter's VMs a limit that no operator could set, in place of spokenLimit.
func memoryOf(limit string) change {
	setting := fmt.Sprintf(`"memory_limit":%d`, spokenLimit)
	return func(t *testing.T, r *xds.Resources) {
		editManager(t, r, func(m *hcmv3.HttpConnectionManager) {
			packed := ownFilter(m).GetTypedConfig()
			// The same length, or the bytes around it would have to change too.
			small := `"memory_limit":` + limit + strings.Repeat(" ", len(setting)-len(`"memory_limit":`)-len(limit))
			if !bytes.Contains(packed.Value, []byte(setting)) {
				t.Fatalf("no %s in the filter's configuration", setting)
			}
			packed.Value = bytes.Replace(packed.Value, []byte(setting), []byte(small), 1)
		})
	}
}

// TestMemoryLimit: a request that may need more than its VM has to spare is refused, before it is read. Smaller ones and
// streams that run go on.
func TestMemoryLimit(t *testing.T) {
	gpu, url := runSim(t, sim.Options{TokensPerSecond: 50})
	c := oneModel(url)
	c.MemoryLimit, c.BodyLimit = spokenLimit, 8<<20
	// The vocabulary and the memory for bodies take 14 MiB of it.
	h := runEnvoy(t, c, memoryOf(strconv.Itoa(20<<20)))
	client := http1(t)
	running := make(chan answer, 1)
	go func() {
		running <- do(client, http.MethodPost, h.URL+chatPath, nil, strings.NewReader(chatBody(caseModel, "Hi")))
	}()
	if _, err := gpu.Await(t.Context(), func(r []sim.Request) bool { return len(r) > 0 }); err != nil {
		t.Fatal(err)
	}
	large := chatBody(caseModel, strings.Repeat("word ", 800_000))
	for range 3 {
		a := do(client, http.MethodPost, h.URL+chatPath, nil, strings.NewReader(large))
		refused(t, a, http.StatusServiceUnavailable, "gateway_overloaded")
		if a.header.Get("retry-after") != "1" {
			t.Errorf("retry-after %q", a.header.Get("retry-after"))
		}
		small := `{"max_tokens":1,` + chatBody(caseModel, "Hi")[1:]
		if a := do(client, http.MethodPost, h.URL+chatPath, nil, strings.NewReader(small)); a.err != nil ||
			a.status != http.StatusOK {
			t.Fatalf("a small request: %d %s %v", a.status, a.body, a.err)
		}
	}
	if a := <-running; a.err != nil || a.status != http.StatusOK {
		t.Errorf("the stream that ran: %d %s %v", a.status, a.body, a.err)
	}
}

// TestManyParts: bodies of many small values, one after the other, cut no stream of their worker. Each ended a fresh VM once.
func TestManyParts(t *testing.T) { onProxies(t, manyParts) }

func manyParts(t *testing.T, run runProxy) {
	const streams = 20
	gpu, url := runSim(t, sim.Options{TokensPerSecond: 8})
	c := oneModel(url)
	c.BodyLimit = 16 << 20
	h := run(t, c)
	client := http1(t)
	running := make(chan answer, streams)
	for range streams {
		go func() {
			running <- do(client, http.MethodPost, h.URL+chatPath, nil,
				strings.NewReader(`{"stream":true,`+chatBody(caseModel, "Hi")[1:]))
		}()
	}
	if _, err := gpu.Await(t.Context(), func(r []sim.Request) bool { return len(r) == streams }); err != nil {
		t.Fatal(err)
	}
	for _, parts := range []int{150_000, 400_000, 600_000} {
		content := "[" + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"a"},`, parts), ",") + "]"
		for path, member := range map[string]string{chatPath: "messages", responsesPath: "input"} {
			body := `{"model":"` + caseModel + `","` + member + `":[{"role":"user","content":` + content + `}]}`
			a := do(client, http.MethodPost, h.URL+path, nil, strings.NewReader(body))
			refused(t, a, http.StatusBadRequest, "max_values_exceeded")
		}
	}
	for range streams {
		if a := <-running; a.err != nil || a.status != http.StatusOK ||
			!strings.HasSuffix(strings.TrimSpace(a.body), "[DONE]") {
			t.Errorf("a stream beside them: %d %v, and it ends %q", a.status, a.err, a.body[max(0, len(a.body)-100):])
		}
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
