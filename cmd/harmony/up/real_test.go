//go:build e2e

package up

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
)

// watched is a buffer that closes seen when its text contains want.
type watched struct {
	bytes.Buffer
	seen chan struct{}
	want string
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if w.seen != nil && strings.Contains(w.String(), w.want) {
		close(w.seen)
		w.seen = nil
	}
	return n, err
}

// TestUp runs the command with the real Envoy and the shipped filter.
func TestUp(t *testing.T) {
	module := os.Getenv("HARMONY_WASM")
	if os.Getenv("ENVOY") == "" || !cli.IsFile(module) {
		t.Fatal("ENVOY names no Envoy, or HARMONY_WASM no filter: run the tests by `make e2e`")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	seen := make(chan struct{})
	out := &watched{seen: seen, want: "listening on http://127.0.0.1:"}
	var stderr bytes.Buffer
	code := make(chan int)
	go func() {
		code <- run(ctx, []string{"up", "--model", "m", "--backend", "vllm=http://127.0.0.1:9", "--listen", "127.0.0.1:0",
			"--concurrency", "1", "--wasm", module}, out, &stderr)
	}()
	select {
	case <-seen:
	case c := <-code:
		t.Fatalf("exit %d before it served: %s", c, stderr.String())
	}
	cancel()
	if c := <-code; c != 0 {
		t.Errorf("exit %d: %s", c, stderr.String())
	}
}
