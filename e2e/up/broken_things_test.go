//go:build e2e

package up

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestTenBrokenThings runs the script that writes docs/ten-broken-things.md. It fails if one of the lines that tell the
// operator what to do is not there. The page must have the same ones.
func TestTenBrokenThings(t *testing.T) {
	for _, name := range []string{"HARMONY_BIN", "HARMONY_WASM"} {
		lab.Tool(t, name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), lab.ProgramLimit)
	defer cancel()
	things := exec.CommandContext(ctx, lab.File("examples/ten-broken-things.sh"))
	things.Cancel = func() error { return things.Process.Signal(syscall.SIGTERM) } // it has children to stop
	things.WaitDelay = lab.StopLimit
	things.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	var failed strings.Builder
	things.Stderr = &failed
	said, err := things.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, said, failed.String())
	}
	page, err := os.ReadFile(lab.File(filepath.Join("docs", "ten-broken-things.md")))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := headlines(string(said)), headlines(string(page)); got != want {
		t.Errorf("make ten-broken-things writes the page again; it has\n%s\nand the script\n%s", want, got)
	}
}

// headlines returns a page's titles, and what the lines say.
func headlines(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "The line says:") || strings.HasPrefix(line, "$ ") {
			b.WriteString(line)
		}
	}
	return b.String()
}
