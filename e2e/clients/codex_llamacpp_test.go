//go:build e2e && llamacpp

package clients

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestCodexLlamaCPP lets Codex work before llama.cpp's real server.
func TestCodexLlamaCPP(t *testing.T) {
	folder := lab.Tool(t, "HARMONY_LLAMACPP")
	s, err := engines.StartLlamaCPP(t.Context(), engines.LlamaCPPOptions{
		Path: filepath.Join(folder, "llama-server"), Model: filepath.Join(folder, "puppet.gguf"),
		Slots: 1, ContextLength: 16384, ReadyTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	codexBeforeEngine(t, "llamacpp="+s.URL, "--context-length", "16384")
}
