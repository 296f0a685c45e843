//go:build e2e && llamacpp

package clients

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestCodexLlamaCPP lets Codex work before llama.cpp's real server.
func TestCodexLlamaCPP(t *testing.T) {
	url, flags := startLlamaCPP(t, 16384)
	codexBeforeEngine(t, "llamacpp="+url, flags...)
}

// startLlamaCPP starts llama.cpp's real server with the scripted model, and returns its URL and what the gateway's
// command line says of its context.
func startLlamaCPP(t *testing.T, context int) (url string, flags []string) {
	t.Helper()
	folder := lab.Tool(t, "HARMONY_LLAMACPP")
	s, err := engines.StartLlamaCPP(t.Context(), engines.LlamaCPPOptions{
		Path: filepath.Join(folder, "llama-server"), Model: filepath.Join(folder, "puppet.gguf"),
		Slots: 1, ContextLength: context, ReadyTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s.URL, []string{"--context-length", strconv.Itoa(context)}
}
