//go:build e2e

package limits

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
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// spokenLimit is written into the filter's configuration, which the default is not.
const spokenLimit = 200 << 20

// memoryOf gives the filter's VMs a limit that no operator could set, in place of spokenLimit.
func memoryOf(limit string) lab.Change {
	setting := fmt.Sprintf(`"memory_limit":%d`, spokenLimit)
	return func(t *testing.T, r *xds.Resources) {
		lab.EditManager(t, r, func(m *hcmv3.HttpConnectionManager) {
			packed := lab.FilterIn(m).GetTypedConfig()
			// The same length, or the bytes around it would have to change too.
			small := `"memory_limit":` + limit + strings.Repeat(" ", len(setting)-len(`"memory_limit":`)-len(limit))
			if !bytes.Contains(packed.Value, []byte(setting)) {
				t.Fatalf("no %s in the filter's configuration", setting)
			}
			packed.Value = bytes.Replace(packed.Value, []byte(setting), []byte(small), 1)
		})
	}
}

// TestMemoryLimit: a request that may need more than its VM has to spare is refused, before it is read. Smaller ones
// and streams that run go on.
func TestMemoryLimit(t *testing.T) {
	gpu, url := lab.RunSim(t, sim.Options{TokensPerSecond: 50})
	c := lab.OneModel(url)
	c.MemoryLimit, c.BodyLimit = spokenLimit, 8<<20
	// The vocabulary and the memory for bodies take 14 MiB of it.
	h := lab.RunEnvoy(t, c, memoryOf(strconv.Itoa(20<<20)))
	client := lab.HTTP1(t)
	running := make(chan lab.Answer, 1)
	go func() {
		running <- lab.Do(client, http.MethodPost, h.URL+lab.ChatPath, nil, strings.NewReader(lab.ChatBody(lab.Model, "Hi")))
	}()
	if _, err := gpu.Await(t.Context(), func(r []sim.Request) bool { return len(r) > 0 }); err != nil {
		t.Fatal(err)
	}
	large := lab.ChatBody(lab.Model, strings.Repeat("word ", 800_000))
	for range 3 {
		a := lab.Do(client, http.MethodPost, h.URL+lab.ChatPath, nil, strings.NewReader(large))
		lab.WantRefused(t, a, http.StatusTooManyRequests, "gateway_overloaded")
		if a.Header.Get("retry-after") != "1" {
			t.Errorf("retry-after %q", a.Header.Get("retry-after"))
		}
		small := `{"max_tokens":1,` + lab.ChatBody(lab.Model, "Hi")[1:]
		if a := lab.Do(client, http.MethodPost, h.URL+lab.ChatPath, nil, strings.NewReader(small)); a.Err != nil ||
			a.Status != http.StatusOK {
			t.Fatalf("a small request: %d %s %v", a.Status, a.Body, a.Err)
		}
	}
	if a := <-running; a.Err != nil || a.Status != http.StatusOK {
		t.Errorf("the stream that ran: %d %s %v", a.Status, a.Body, a.Err)
	}
}

// TestManyParts: bodies of many small values, one after the other, cut no stream of their worker. Each ended a fresh VM
// once.
func TestManyParts(t *testing.T) { lab.OnProxies(t, manyParts) }

func manyParts(t *testing.T, run lab.RunProxy) {
	const streams = 20
	gpu, url := lab.RunSim(t, sim.Options{TokensPerSecond: 8})
	c := lab.OneModel(url)
	c.BodyLimit = 16 << 20
	h := run(t, c)
	client := lab.HTTP1(t)
	running := make(chan lab.Answer, streams)
	for range streams {
		go func() {
			running <- lab.Do(client, http.MethodPost, h.URL+lab.ChatPath, nil,
				strings.NewReader(`{"stream":true,`+lab.ChatBody(lab.Model, "Hi")[1:]))
		}()
	}
	if _, err := gpu.Await(t.Context(), func(r []sim.Request) bool { return len(r) == streams }); err != nil {
		t.Fatal(err)
	}
	for _, parts := range []int{150_000, 400_000, 600_000} {
		content := "[" + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"a"},`, parts), ",") + "]"
		for path, member := range map[string]string{lab.ChatPath: "messages", lab.ResponsesPath: "input"} {
			body := `{"model":"` + lab.Model + `","` + member + `":[{"role":"user","content":` + content + `}]}`
			a := lab.Do(client, http.MethodPost, h.URL+path, nil, strings.NewReader(body))
			lab.WantRefused(t, a, http.StatusBadRequest, "max_values_exceeded")
		}
	}
	for range streams {
		if a := <-running; a.Err != nil || a.Status != http.StatusOK ||
			!strings.HasSuffix(strings.TrimSpace(a.Body), "[DONE]") {
			t.Errorf("a stream beside them: %d %v, and it ends %q", a.Status, a.Err, a.Body[max(0, len(a.Body)-100):])
		}
	}
}

// TestManyCalls: histories of many small objects, which a collector minds more than their size, hold no worker for
// long and leave no heap that grows from one to the next.
func TestManyCalls(t *testing.T) {
	_, url := lab.RunSim(t, sim.Options{Keep: -1, MaxModelLen: 1 << 20})
	c := lab.OneModel(url)
	c.Models[0].ContextLength = 1 << 20
	h := lab.RunEnvoy(t, c)
	client := lab.HTTP1(t)
	history := func(calls int) string {
		var b strings.Builder
		b.WriteString(`{"model":"` + lab.Model + `","messages":[{"role":"assistant","tool_calls":[`)
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
		a := lab.Do(client, http.MethodPost, h.URL+lab.ChatPath, nil, strings.NewReader(history(calls)))
		if a.Err != nil || a.Status != http.StatusOK {
			t.Fatalf("%d calls: %d %.300s %v", calls, a.Status, a.Body, a.Err)
		}
		if took := time.Since(began); took > lab.RequestLimit {
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
