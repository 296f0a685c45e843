package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/cmd/harmony/cli/clitest"
	"github.com/harmonyedge/harmonyedge/internal/bundled"
)

// TestFindModule checks the order: --wasm, the filter in the program, a file beside it, an error that says what to do.
func TestFindModule(t *testing.T) {
	t.Chdir(t.TempDir())
	inside := func() ([]byte, error) { return []byte("inside"), nil }
	damaged := func() ([]byte, error) { return nil, errors.New("damaged") }
	none := func() ([]byte, error) { return nil, bundled.ErrNone }
	_, err := findModule("", none)
	if err == nil || !strings.Contains(err.Error(), "run make wasm") || !errors.Is(err, bundled.ErrNone) {
		t.Errorf("nowhere: %v", err)
	}
	named := clitest.WriteFile(t, "named.wasm", "")
	if err := os.MkdirAll("dist", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("dist/harmony-filter.wasm", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := findModule("", none); err != nil || !filepath.IsAbs(got.file) || got.content != nil {
		t.Errorf("beside: %v, %v", got, err)
	}
	if got, err := findModule("", inside); err != nil || got.file != "" || string(got.content) != "inside" {
		t.Errorf("in the program: %v, %v", got, err)
	}
	// The file beside it may be of another version, so a damaged filter is an error.
	if got, err := findModule("", damaged); err == nil {
		t.Errorf("in the program, damaged: %v", got)
	}
	if got, err := findModule(named, inside); err != nil || got.file != named || got.content != nil {
		t.Errorf("named: %v, %v", got, err)
	}
}
