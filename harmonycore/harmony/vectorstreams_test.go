package harmony

import (
	"testing"

	"github.com/harmonyedge/harmonyedge/internal/vectors"
)

// vectorStreams are the token streams of the vectors, for tests that hold no reference against them.
func vectorStreams(t *testing.T) [][]uint32 {
	t.Helper()
	var all [][]uint32
	err := vectors.Each("testdata", "parse_*.jsonl", 2000, func(_ vectors.Place, v *vectors.Stream) error {
		if ids, ok := v.IDs(); ok {
			all = append(all, ids)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestInvariantsOnVectors: what StreamParser promises holds for them too.
func TestInvariantsOnVectors(t *testing.T) {
	for _, ids := range vectorStreams(t) {
		checkInvariants(t, ids)
	}
}
