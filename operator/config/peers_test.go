//go:build peers

package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// TestPeersTemplates: of the response templates that transformers and vLLM's tests have, each comes to its form, or is
// refused. tools/callvectors/peers.py collects them.
func TestPeersTemplates(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(os.Getenv("HARMONY_PEER_VECTORS"), "templates.json"))
	if err != nil {
		t.Fatal(err)
	}
	var templates map[string]json.RawMessage
	if err := json.Unmarshal(data, &templates); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"transformers qwen2": contract.SpeaksHermes, "transformers qwen3_5": contract.SpeaksQwen3Coder,
		"vllm smollm": contract.SpeaksHermes, "vllm qwen3": contract.SpeaksQwen3Coder,
		"vllm gpt_oss": contract.SpeaksHarmony,
		// These have marks that no form here has.
		"transformers gemma4": "", "vllm gemma4": "", "vllm cohere": "", "vllm ernie": "", "vllm inkling": "",
	}
	for name, template := range templates {
		file := filepath.Join(t.TempDir(), "template.json")
		if err := os.WriteFile(file, template, 0o600); err != nil {
			t.Fatal(err)
		}
		form, err := readResponseTemplate(file)
		speaks, known := want[name]
		if t.Logf("%s: %q %v", name, form.speaks, err); !known || form.speaks != speaks && err == nil ||
			(err == nil) != (speaks != "") {
			t.Errorf("%s: %q %v, want %q", name, form.speaks, err, speaks)
		}
	}
	if len(templates) != len(want) {
		t.Errorf("there are %d templates, want %d", len(templates), len(want))
	}
}
