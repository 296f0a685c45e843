//go:build e2e && vllm

package clients

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/engines"
)

// TestCodexVLLM lets Codex work before vLLM itself.
func TestCodexVLLM(t *testing.T) {
	var servers engines.VLLMs
	v := servers.New(t)
	codexBeforeEngine(t, "vllm="+v.URL, "--server-model", engines.VLLMModel)
}
