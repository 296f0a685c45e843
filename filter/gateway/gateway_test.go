package gateway

import (
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/filter/config"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestLeastMemoryLimit: with the least memory that an operator can set, the largest request is admitted.
func TestLeastMemoryLimit(t *testing.T) {
	const vocabulary = 5 << 20
	for _, limit := range []int{1 << 10, 1 << 20, config.DefaultBodyLimit, config.MaxBodyLimit} {
		if need, least := vocabulary+limit+exchange.MostMemory(limit), config.LeastMemoryLimit(limit); need > least {
			t.Errorf("a request of %d bytes may take %d, and the least memory limit is %d", limit, need, least)
		}
	}
	if least := config.LeastMemoryLimit(config.DefaultBodyLimit); least > config.DefaultMemoryLimit {
		t.Errorf("the default body limit wants a memory limit of %d, and the default is %d", least, config.DefaultMemoryLimit)
	}
	if least := config.LeastMemoryLimit(config.MaxBodyLimit); least > config.MaxMemoryLimit {
		t.Errorf("the largest body limit wants a memory limit of %d, beyond the largest", least)
	}
}

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
