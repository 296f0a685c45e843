//go:build e2e

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestBench runs a round of each load before servers of every kind, as small as can be, so that a change of the filter
// or a new kind of server does not break the bench unseen.
func TestBench(t *testing.T) {
	lab.Tool(t, "HARMONY_WASM")
	folder := t.TempDir()
	o := options{rounds: 1, most: 1, loads: "paced|full|small|prompt 100$|neighbours|idle", variants: "^[^v]",
		streams: 2, rate: 200, window: 200 * time.Millisecond, idle: 2, out: folder}
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.loads, o.variants, o.tap = "^(paced|small)$", "^chat( tap .*)?$", true
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.tap = false
	o.loads, o.variants, o.crowds = ".", "^(none|chat)$", []crowd{{2, 4}}
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"edge.md", "edge.svg", "workers.md", "tap.md"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Size() < 500 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
