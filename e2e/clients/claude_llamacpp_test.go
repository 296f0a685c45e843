//go:build e2e && llamacpp

package clients

import "testing"

// TestClaudeLlamaCPP lets Claude Code work before llama.cpp's real server. Its prompts have 10,000 tokens and more.
func TestClaudeLlamaCPP(t *testing.T) {
	url, flags := startLlamaCPP(t, 32768)
	claudeBeforeEngine(t, "llamacpp", url, "/completion", flags...)
}
