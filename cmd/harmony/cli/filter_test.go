package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/bundled"
)

// TestFilter writes out the filter of this test's program, which has one in a release's sources and none in a checkout.
func TestFilter(t *testing.T) {
	out := filepath.Join(t.TempDir(), "f.wasm")
	code, _, stderr := command(t, t.Context(), "filter", "-o", out)
	module, err := bundled.Filter()
	if errors.Is(err, bundled.ErrNone) {
		if code != ExitFailed || !strings.Contains(stderr, "built without the filter; install a release") {
			t.Errorf("exit %d: %s", code, stderr)
		}
		return
	}
	got, readErr := os.ReadFile(out)
	if err != nil || readErr != nil || code != 0 || !bytes.Equal(got, module) || !strings.Contains(stderr, checksum(module)) {
		t.Errorf("exit %d, %v, %v: %s", code, err, readErr, stderr)
	}
	if code, stdout, _ := command(t, t.Context(), "filter", "-o", "-"); code != 0 || stdout != string(module) {
		t.Errorf("to standard output: exit %d, %d bytes", code, len(stdout))
	}
	if code, _, stderr := command(t, t.Context(), "filter", "-o", t.TempDir()); code != ExitUsage {
		t.Errorf("to a folder: exit %d: %s", code, stderr)
	}
}

// TestWriteOutput checks that a file is replaced and that a device stays one.
func TestWriteOutput(t *testing.T) {
	if err := WriteOutput(os.DevNull, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s is %v, %v", os.DevNull, info.Mode(), err)
	}
	file := filepath.Join(t.TempDir(), "f")
	for _, content := range []string{"long content", "short"} {
		if err := WriteOutput(file, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != content {
			t.Errorf("got %q, %v", got, err)
		}
	}
}
