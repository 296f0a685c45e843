//go:build e2e

package hostile

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// envoyWorker starts the filter in a real Envoy with one worker. It measures everything that the worker does for a
// request, from its first byte to its answer. Envoy's own reading is included, so no call of the filter took longer.
func envoyWorker(t *testing.T) *worker {
	t.Helper()
	c := settings(contract.VLLM)
	c.Listen, c.Envoy.Concurrency = "127.0.0.1:0", 1
	t.Setenv(contract.SealKeysVariable, SealKeys)
	host, err := hosts.Envoy(hosts.Setup{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Stop)
	thread := workerThread(t, host.Process.PID())
	return &worker{
		T: t, limit: int(c.BodyLimit),
		longest: 100 * time.Millisecond, quietYardstick: 8 * time.Millisecond,
		send: func(path string, body []byte) (time.Duration, string) {
			began := taskTime(t, thread)
			response, err := http.Post(host.URL+path, "application/json", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			took, said := taskTime(t, thread)-began, answered(response.StatusCode, text)
			if strings.HasSuffix(said, " server_unavailable") {
				said = sent
			}
			return took, said
		},
		tick: func() { time.Sleep(time.Second) },
	}
}

// workerThread returns the folder in /proc of the only worker's thread.
func workerThread(t *testing.T, pid int) string {
	t.Helper()
	names, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if comm, err := os.ReadFile(name); err == nil && strings.HasPrefix(string(comm), "wrk:worker_0") {
			return filepath.Dir(name)
		}
	}
	t.Fatalf("Envoy has no worker among %d threads", len(names))
	return ""
}

// taskTime returns the processor time that a thread has used so far.
func taskTime(t *testing.T, folder string) time.Duration {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "schedstat"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), " ")
	spent, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(spent)
}
