//go:build e2e

package soak

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

const model = "gpt-oss-120b"

// sized returns few, or all if `make soak` asks for the full length.
func sized(few, all int) int {
	if lab.AtLength() {
		return all
	}
	return few
}

type startHost = func(hosts.Setup) (*hosts.Host, error)

// onHosts runs a test of so many requests on each host of the shipped filter.
func onHosts(t *testing.T, requests int, run func(t *testing.T, start startHost, requests int)) {
	t.Run("envoy", func(t *testing.T) { run(t, hosts.Envoy, requests) })
	t.Run("wazero", func(t *testing.T) { run(t, hosts.Wazero, requests) })
}

// TestSoak sends many requests, large and small. Envoy's memory must not grow after the first tenth of them: linear
// memory never shrinks, so every leak stays visible. `make soak` runs it at full length, `make test` at a tenth. With
// HARMONY_SOAK=million there are ten times as many small ones.
func TestSoak(t *testing.T) {
	parts, small := sized(10, 1), 100_000
	if os.Getenv("HARMONY_SOAK") == "million" {
		small = 1_000_000
	}
	for _, tt := range []struct{ requests, size int }{{10_000, 100 << 10}, {400, 5 << 20}, {small, 300}} {
		t.Run(fmt.Sprintf("%d_bytes", tt.size), func(t *testing.T) { soak(t, tt.requests/parts, tt.size) })
	}
}

// answer is what a server streams for a short answer. It is recorded, because the simulator would take most of the
// machine's time to read such prompts.
const answer = `data: {"id":"cmpl-1","object":"text_completion","created":1,"model":"gpt-oss-120b","choices":[{"index":0,"text":"","token_ids":[200005,17196,200008,12194],"finish_reason":null}]}

data: {"id":"cmpl-1","object":"text_completion","created":1,"model":"gpt-oss-120b","choices":[{"index":0,"text":"","token_ids":[200002],"finish_reason":"stop","stop_reason":null}]}

data: [DONE]

`

func soak(t *testing.T, requests, size int) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("content-type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	c := config.Default()
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	c.BodyLimit = 16 << 20 // more than the default, for the largest of these requests
	c.Models = []config.Model{config.DefaultModel(model, "vllm="+server.URL)}
	c.Models[0].ContextLength = 4 << 20
	host, err := hosts.Envoy(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Stop()

	body := soakBody(size)
	first := bytes.Index(body, []byte("word"))
	start := time.Now()
	var atTenth, at int
	for i := range requests {
		copy(body[first:], fmt.Sprintf("%08d ", i)) // each is a conversation of its own
		response, err := http.Post(host.URL+"/v1/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("request %d: %d %v %.300s\nEnvoy's log:\n%s", i, response.StatusCode, err, said, host.Process.Log(30))
		}
		if (i+1)%(requests/10) != 0 {
			continue
		}
		if at, err = hosts.ResidentKiB(host.Process.PID()); err != nil {
			t.Fatal(err)
		}
		if i+1 == requests/10 {
			atTenth = at
		}
		memory, err := hosts.MemoryOf(host.Process.PID())
		if err != nil {
			t.Fatal(err)
		}
		collections, longest, err := hosts.Collections(host.Process)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d requests of %d bytes: %d MiB, of which the VMs have %d; %d collections, the longest %.1f ms", i+1, size,
			at>>10, memory.VMs>>20, collections, longest.Seconds()*1000)
	}
	cpu, err := hosts.CPUSeconds(host.Process.PID())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d requests of %d bytes: %d MiB, %.1f s, Envoy's CPU %.1f s", requests, size, at>>10,
		time.Since(start).Seconds(), cpu)
	// Envoy's allocator and the collector's heap vary by less than this.
	const slackKiB = 24 << 10
	if at > atTenth+slackKiB {
		t.Errorf("Envoy grew from %d to %d MiB", atTenth>>10, at>>10)
	}
}

// soakBody returns a chat request of about size bytes in which no two successive words are the same.
func soakBody(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"` + model + `","messages":[{"role":"user","content":"`)
	for i := 0; b.Len() < size-6; i++ {
		b.WriteString("word" + strconv.Itoa(i*7919%10007) + " ")
	}
	b.WriteString(`"}]}`)
	return b.Bytes()
}
