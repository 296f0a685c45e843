package look

import (
	"bytes"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli"
	"github.com/harmonyedge/harmonyedge/sim"
)

// TestSimPort checks that a port that is taken is an error that says what to do.
func TestSimPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	var out, failed bytes.Buffer
	if code := run(t.Context(), []string{"sim", "--listen", address}, &out, &failed); code != cli.ExitFailed ||
		!strings.Contains(failed.String(),
			address+" is in use; stop what listens there, or choose another address with --listen") {
		t.Errorf("%d %s%s", code, &out, &failed)
	}
}

// TestBatchFlags checks options of an engine that do not go together.
func TestBatchFlags(t *testing.T) {
	for _, c := range []struct {
		name    string
		o       sim.Options
		refused string
	}{
		{"none", sim.Options{TokensPerSecond: 40, TimeToFirstToken: time.Second}, ""},
		{"an engine", sim.Options{CacheBlocks: 100, PrefillRate: 1000, StepTime: time.Millisecond}, ""},
		{"one block, which is never used", sim.Options{CacheBlocks: 1}, "--cache-blocks"},
		{"less than none", sim.Options{CacheBlocks: -1}, "--cache-blocks"},
		{"a negative rate", sim.Options{CacheBlocks: 100, DecodeRate: -1}, "negative"},
		{"a rate without an engine", sim.Options{PrefillRate: 1000}, "need --cache-blocks"},
		{"two paces", sim.Options{CacheBlocks: 100, TokensPerSecond: 40}, "--tokens-per-second"},
		{"a role", sim.Options{CacheBlocks: 100, Role: sim.RoleDecode}, "--role"},
	} {
		err := checkBatch(&c.o)
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", c.name, err, c.refused)
		}
	}
}
