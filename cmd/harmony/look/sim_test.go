package look

import (
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/sim"
)

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
