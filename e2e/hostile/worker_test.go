package hostile

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/controlplane/config"
	"github.com/harmonyedge/harmonyedge/filter/filtertest"
)

// worker is the filter that ships, in one VM under wazero: what holds the VM holds all streams of an Envoy's worker.
type worker struct {
	*testing.T
	host  *filtertest.Host
	limit int // of a body, in bytes
}

func newWorker(t *testing.T) *worker {
	t.Helper()
	wasm := os.Getenv("HARMONY_WASM")
	if wasm == "" {
		t.Fatal("HARMONY_WASM is not set: run the tests by `make e2e`")
	}
	c := config.Default()
	c.Passthrough = "http://127.0.0.1:1" // no request leaves this process
	c.Models = []config.Model{{Name: Model, Servers: []string{"vllm=http://127.0.0.1:1"}}}
	limit := int(c.BodyLimit)
	host := filtertest.New(t, wasm, string(c.Filter().AppendJSON(nil)), filtertest.BufferLimit(limit+1<<20),
		filtertest.Protocols(filtertest.HTTP2, filtertest.HTTP2), filtertest.Environment(map[string]string{"HARMONY_SEAL_KEYS": SealKeys}))
	return &worker{T: t, host: host, limit: limit}
}

// hold is what a request was to a worker.
type hold struct {
	name string
	size int
	took time.Duration
	// said is the status and code of an answer from here, or that the request has gone on.
	said string
}

const sent = "sent"

// try sends one request and measures the call in which the filter reads it. A worker that has no other stream must take it,
// and must survive it.
func (w *worker) try(name, path string, body []byte) hold {
	w.Helper()
	h := w.once(name, path, body)
	if strings.HasPrefix(h.said, "503") {
		w.host.Advance(time.Second) // it may have to look at its heap first, which it does by a timer
		if h = w.once(name, path, body); strings.HasPrefix(h.said, "503") {
			w.Errorf("%s, %d bytes: a worker without streams answers %s", name, len(body), h.said)
		}
	}
	return h
}

func (w *worker) once(name, path string, body []byte) hold {
	w.Helper()
	x := w.host.BeginRequest("POST", path, "content-type", "application/json")
	last := len(body) - 1
	x.SendRequest(string(body[:last]))
	end := string(body[last:])
	runtime.LockOSThread()
	began := w.spent()
	x.EndRequest(end)
	h := hold{name: name, size: len(body), took: w.spent() - began, said: sent}
	runtime.UnlockOSThread()
	if r := x.Client(); r.Headers != nil {
		var answer struct{ Error struct{ Code string } }
		_ = json.Unmarshal([]byte(r.Body()), &answer) // an answer without an error has no code
		h.said = strings.TrimSpace(strconv.Itoa(r.Status) + " " + answer.Error.Code)
	}
	if !x.Done() {
		x.ClientLeaves()
	}
	if w.host.Stats().Failed {
		w.Fatalf("%s: %d bytes have ended the VM", name, len(body))
	}
	w.host.Advance(250 * time.Millisecond) // a tick
	return h
}

// spent is the processor time that this thread has had so far: what else runs on the machine is not in it.
func (w *worker) spent() time.Duration {
	w.Helper()
	const thread = 1 // RUSAGE_THREAD
	var used syscall.Rusage
	if err := syscall.Getrusage(thread, &used); err != nil {
		w.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// yardstick is how long the worker is held by 100,000 tokens that go to a server: the median of some.
func (w *worker) yardstick() time.Duration {
	w.Helper()
	text := strings.Repeat(" the quick brown fox jumps over a lazy dog while", 10_000)
	body := []byte(`{"model":"` + Model + `","messages":[{"role":"user","content":"` + text + `"}]}`)
	var took []time.Duration
	for range 9 {
		h := w.try("the yardstick", "/v1/chat/completions", body)
		if h.said != sent {
			w.Fatalf("the yardstick is answered %s", h.said)
		}
		took = append(took, h.took)
	}
	slices.Sort(took)
	return took[len(took)/2]
}
