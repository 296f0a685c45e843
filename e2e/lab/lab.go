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

// Patience bounds every wait of these tests; nothing waits that long unless it hangs.
const Patience = 2 * time.Minute

const (
	Model = "gpt-oss-120b"
	Date  = "2026-01-02"
)

var Update = flag.Bool("update", false, "write what the native host does into the cases")

// Tool is the path of a tool that `make e2e` has installed and named in the environment.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path := os.Getenv(name)
	if path == "" {
		t.Fatalf("%s is not set: run the tests by `make e2e`", name)
	}
	return path
}

// Root is the root of the repository: the nearest folder above the test's with a go.mod.
var Root = sync.OnceValue(func() string {
	folder, err := os.Getwd()
	for err == nil {
		if _, err = os.Stat(filepath.Join(folder, "go.mod")); err == nil {
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

const SealKey = "a:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// StallTimeout is the shortest that a configuration may say.
const StallTimeout = time.Second

const ProgramLimit = 5 * time.Minute

// RequestLimit is how long one request may take by no means, however busy the machine: nobody else is served meanwhile.
const RequestLimit = 15 * time.Second
