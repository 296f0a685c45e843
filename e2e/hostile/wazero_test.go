//go:build e2e

package hostile

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	filterconfig "github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/filter/filtertest"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

// wazeroWorker starts the filter under wazero, without HTTP. It measures exactly the call in which the filter reads a
// request.
func wazeroWorker(t *testing.T, c *config.Config) *worker {
	t.Helper()
	wasm := os.Getenv("HARMONY_WASM")
	if wasm == "" {
		t.Fatal("HARMONY_WASM is not set: run the tests by `make e2e`")
	}
	limit := int(c.BodyLimit)
	host := filtertest.New(t, wasm, string(filterconfig.AppendJSON(nil, c.Filter())), filtertest.BufferLimit(limit+1<<20),
		filtertest.Protocols(filtertest.HTTP2, filtertest.HTTP2),
		filtertest.Environment(map[string]string{"HARMONY_SEAL_KEYS": SealKeys}))
	return &worker{
		T: t, limit: limit,
		// Almost three times the limit in Envoy: wazero's code is half as fast as V8's, and slower still in texts of long
		// runs, whose bytes it checks one by one.
		longest: 270 * time.Millisecond, quietYardstick: 14 * time.Millisecond,
		send: func(path string, body []byte) (time.Duration, string) {
			x := host.BeginRequest("POST", path, "content-type", "application/json")
			last := len(body) - 1
			x.SendRequest(string(body[:last]))
			end := string(body[last:])
			runtime.LockOSThread()
			began := threadTime(t)
			x.EndRequest(end)
			took, said := threadTime(t)-began, sent
			runtime.UnlockOSThread()
			if r := x.Client(); r.Headers != nil {
				said = answered(r.Status, []byte(r.Body()))
			}
			if !x.Done() {
				x.ClientLeaves()
			}
			if host.Stats().Failed {
				t.Fatalf("%d bytes have ended the VM: %.200s", len(body), body)
			}
			host.Advance(250 * time.Millisecond)
			return took, said
		},
		tick: func() { host.Advance(time.Second) },
	}
}

// threadTime returns the processor time that this thread has used so far, so other load on the machine does not count.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	const thread = 1 // RUSAGE_THREAD
	var used syscall.Rusage
	if err := syscall.Getrusage(thread, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
