package gateway

import (
	"slices"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestLeastMemoryLimit: with the least memory that an operator can set, the largest request is admitted.
func TestLeastMemoryLimit(t *testing.T) {
	const vocabulary = 5 << 20
	for _, limit := range []int{1 << 10, 1 << 20, contract.DefaultBodyLimit, contract.MaxBodyLimit} {
		if need, least := vocabulary+limit+exchange.MostMemory(limit), contract.LeastMemoryLimit(limit); need > least {
			t.Errorf("a request of %d bytes may take %d, and the least memory limit is %d", limit, need, least)
		}
	}
	if least := contract.LeastMemoryLimit(contract.DefaultBodyLimit); least > contract.DefaultMemoryLimit {
		t.Errorf("the default body limit wants a memory limit of %d, and the default is %d", least, contract.DefaultMemoryLimit)
	}
	if least := contract.LeastMemoryLimit(contract.MaxBodyLimit); least > contract.MaxMemoryLimit {
		t.Errorf("the largest body limit wants a memory limit of %d, beyond the largest", least)
	}
}

// TestExtras: the contract and the core know each other's names, without seeing each other.
func TestExtras(t *testing.T) {
	if got, want := contract.KnownExtras(), openai.ExtraNames(); !slices.Equal(got, want) {
		t.Errorf("the configuration knows %q, the core %q", got, want)
	}
	for _, name := range contract.DefaultExtras() {
		if !slices.Contains(contract.KnownExtras(), name) {
			t.Errorf("%s is let through by default, and nobody knows it", name)
		}
	}
}
