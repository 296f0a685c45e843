//go:build e2e

package lab

import (
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Limits on a busy machine.
const (
	// Patience is how long a test waits for anything; only what hangs takes as long.
	Patience = 2 * time.Minute
	// ProgramLimit is how long a client's program or a script may run.
	ProgramLimit = 5 * time.Minute
	// RequestLimit is how long one request may hold a worker: it serves no other meanwhile.
	RequestLimit = 15 * time.Second
	// Pause is how long a test waits between two looks at what tells nobody when it changes. Without pauses a test takes
	// the processor from what it waits for.
	Pause = 10 * time.Millisecond
	// StallTimeout is the shortest stall timeout that a configuration may have.
	StallTimeout = time.Second
)

const (
	// Model is the model of every configuration in which the model's name does not matter.
	Model = "gpt-oss-120b"
	// Date is the date in its prompts.
	Date = "2026-01-02"
	// SealKey is a key that seals reasoning. Its bytes stand nowhere else: tests search for them in what Envoy shows, and
	// that has the filter's module.
	SealKey = "a:822Z2Z4hlwA4ud52j3yyhhRseqVmfofvP3nLq/sDMAo="
)

// Update is the flag -update. Tests then write what they see into the files that they otherwise compare it with.
var Update = flag.Bool("update", false, "write what is seen into the cases, recordings and pages")

// Tool returns the path of a tool, which `make e2e` has put into the environment by this name.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path := os.Getenv(name)
	if path == "" {
		t.Fatalf("%s is not set: run the tests by `make e2e`", name)
	}
	return path
}

// Root returns the root of the repository: the nearest folder above the test's that has this package.
var Root = sync.OnceValue(func() string {
	folder, err := os.Getwd()
	for err == nil {
		if _, err = os.Stat(filepath.Join(folder, "e2e", "lab")); err == nil {
			return folder
		}
		if folder != filepath.Dir(folder) {
			folder, err = filepath.Dir(folder), nil
		}
	}
	panic(err)
})

// File returns the path of a file that is named by its path from the repository's root.
func File(path string) string { return filepath.Join(Root(), path) }

// AtLength reports whether tests that can be made longer run at their full length, as they do in the stages of make
// test-full: with HARMONY_SOAK in the environment.
func AtLength() bool { return os.Getenv("HARMONY_SOAK") != "" }

// Long leaves a test that takes long and rarely fails to a target of the Makefile, which is a stage of make test-full.
func Long(t *testing.T, target string) {
	t.Helper()
	if !AtLength() {
		t.Skip("it takes long: make " + target)
	}
}
