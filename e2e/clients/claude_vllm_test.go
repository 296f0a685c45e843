//go:build e2e && vllm

package clients

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
)

// TestClaudeVLLM lets Claude Code work before vLLM itself, and then compares the prompts that vLLM makes of Claude Code's
// requests with ours.
func TestClaudeVLLM(t *testing.T) {
	var servers engines.VLLMs
	v := servers.New(t, append([]string{"--max-model-len", "131072", "--enable-scale-out", "--enable-auto-tool-choice",
		"--tool-call-parser", "openai", "--served-model-name"}, claudeNames...)...)
	t.Run("work", func(t *testing.T) {
		claudeBeforeEngine(t, "vllm", v.URL, "/v1/completions", "--server-model", engines.VLLMModel)
	})
	t.Run("rendered", func(t *testing.T) { compareRendered(t, v.URL) })
}
