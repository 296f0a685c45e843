//go:build e2e

package soak

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// TestSoakHeld sends bodies that never end, round after round. Envoy's memory must stay within its worker's limit, and
// other clients must be served. `make soak` sends 100 bodies of 15 MB at a time, `make test` 30.
func TestSoakHeld(t *testing.T) {
	lab.Long(t, "soak")
	const many, rounds = 100, 5
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("content-type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	c := config.Default()
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	c.Models = []config.Model{config.DefaultModel(model, "vllm="+server.URL)}
	host, err := hosts.Envoy(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	defer host.Stop()
	before, err := hosts.ResidentKiB(host.Process.PID())
	if err != nil {
		t.Fatal(err)
	}
	for round := range rounds {
		conns := unfinished(t, host, many)
		slowest := time.Duration(0)
		for range 20 {
			began := time.Now()
			response, err := http.Post(host.URL+"/v1/chat/completions", "application/json", bytes.NewReader(soakBody(1000)))
			if err != nil {
				t.Fatal(err)
			}
			said, err := io.ReadAll(response.Body)
			response.Body.Close()
			if err != nil || response.StatusCode != http.StatusOK {
				t.Fatalf("another client: %d %v %s", response.StatusCode, err, said)
			}
			slowest = max(slowest, time.Since(began))
		}
		at, err := hosts.ResidentKiB(host.Process.PID())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("round %d: %d unfinished bodies of 15 MB: %d MiB, before %d MiB; another client's slowest answer %v", round+1,
			many, at>>10, before>>10, slowest.Round(time.Millisecond))
		// The worker may hold memory_limit. In addition, Envoy's allocator keeps what Envoy has read before it freed the
		// refused bodies.
		if limit := before + 3*int(c.MemoryLimit>>10); at > limit {
			t.Errorf("Envoy has grown from %d to %d MiB", before>>10, at>>10)
		}
		for _, conn := range conns {
			_ = conn.Close()
		}
	}
}

// unfinished sends so many bodies without their ends, and returns when Envoy has read or refused them all.
func unfinished(t *testing.T, host *hosts.Host, many int) []net.Conn {
	t.Helper()
	body := bytes.Repeat([]byte(" "), 15_000_000)
	var sending sync.WaitGroup
	conns := make([]net.Conn, many)
	for i := range conns {
		conn, err := net.Dial("tcp", strings.TrimPrefix(host.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = conn
		sending.Go(func() {
			fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nhost: soak\r\ncontent-length: %d\r\n\r\n", len(body)+1)
			_, _ = conn.Write(body) // fails if the request has been refused
		})
	}
	sending.Wait()
	return conns
}
