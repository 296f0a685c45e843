//go:build e2e

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestBench runs a round of some loads, so that a change of the filter does not break the bench unseen.
func TestBench(t *testing.T) {
	lab.Tool(t, "HARMONY_WASM")
	folder := t.TempDir()
	o := options{rounds: 1, sessions: 1, memory: 4 << 20, loads: "^(Responses|first turns)$", out: folder}
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(folder, "agent-turns.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| Responses: turn 43 ÷ plain Envoy ", "## First turns", "## Memory of a VM"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
