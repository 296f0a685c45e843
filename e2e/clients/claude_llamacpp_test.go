//go:build e2e && llamacpp

package clients

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// TestClaudeLlamaCPP lets Claude Code work before llama.cpp's real server. Its prompts have 10,000 tokens and more.
func TestClaudeLlamaCPP(t *testing.T) {
	folder := lab.Tool(t, "HARMONY_LLAMACPP")
	s, err := engines.StartLlamaCPP(t.Context(), engines.LlamaCPPOptions{
		Path: filepath.Join(folder, "llama-server"), Model: filepath.Join(folder, "puppet.gguf"),
		Slots: 1, ContextLength: 32768, ReadyTimeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	claudeBeforeEngine(t, "llamacpp", s.URL, "/completion", "--context-length", "32768")
}
