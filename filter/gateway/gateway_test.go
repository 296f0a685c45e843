package gateway

import (
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestExtras: the contract and the core know each other's names, without seeing each other.
func TestExtras(t *testing.T) {
	if got, want := config.KnownExtras(), openai.ExtraNames(); !slices.Equal(got, want) {
		t.Errorf("the configuration knows %q, the core %q", got, want)
	}
	for _, name := range config.DefaultExtras() {
		if !slices.Contains(config.KnownExtras(), name) {
			t.Errorf("%s is let through by default, and nobody knows it", name)
		}
	}
}
