//go:build e2e

package telemetry

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestHeapGauge: of two workers one holds a response of 3 MB, and the other nothing. The gauge is the former's,
// whichever of the two wrote last.
func TestHeapGauge(t *testing.T) { lab.OnProxies(t, heapGauge) }

func heapGauge(t *testing.T, run lab.RunProxy) {
	const held = 3 << 20
	wide, err := json.Marshal(slices.Repeat(o200k.Tokenizer().AppendEncode(nil, strings.Repeat("=", 64)), 1000))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("content-type", "text/event-stream")
		const event = `data: {"choices":[{"index":0,"text":"","token_ids":%s,"finish_reason":%s}]}` + "\n\n"
		fmt.Fprintf(w, event, "[200005,17196,200008]", "null") // <|channel|>final<|message|>
		for range held/64_000 + 1 {
			fmt.Fprintf(w, event, wide, "null")
		}
		_ = http.NewResponseController(w).Flush()
		<-done
		fmt.Fprintf(w, event, "[200002]", `"stop"`) // <|return|>
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	c := lab.OneModel(server.URL)
	c.Envoy.Concurrency = 2
	h := run(t, c)
	idle := awaitHeap(t, h, 1)

	response, err := lab.HTTP1(t).Post(h.URL+"/v1/responses", "application/json",
		strings.NewReader(`{"model":"`+lab.Model+`","stream":true,"input":"Hi"}`))
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan error, 1)
	go func() {
		defer response.Body.Close()
		_, err := io.Copy(io.Discard, response.Body)
		read <- err
	}()
	awaitHeap(t, h, idle+held)
	least := heapBytes(t, h)
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		least = min(least, heapBytes(t, h))
	}
	if least < idle+held {
		t.Errorf("the gauge was %d while a worker held %d more than %d", least, held, idle)
	}
	close(done)
	if err := <-read; err != nil {
		t.Error(err)
	}
}

func heapBytes(t *testing.T, h *hosts.Host) uint64 {
	if h.Server != nil {
		return h.Server.Proxy().Metrics()["harmony_vm_heap_bytes"]
	}
	return lab.Counter(t, h, "harmony_vm_heap_bytes")
}

// awaitHeap waits until the gauge is that high, and returns it.
func awaitHeap(t *testing.T, h *hosts.Host, least uint64) uint64 {
	t.Helper()
	for end := time.Now().Add(lab.Patience); ; time.Sleep(20 * time.Millisecond) {
		if n := heapBytes(t, h); n >= least {
			return n
		} else if time.Now().After(end) {
			t.Fatalf("the gauge is %d, want %d", n, least)
		}
	}
}
