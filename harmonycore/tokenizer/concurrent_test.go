//go:build !tinygo

package tokenizer_test

import (
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

// TestConcurrent covers programs that use the core as a library and have goroutines. The filter has none.
func TestConcurrent(t *testing.T) {
	tok := o200k.Tokenizer()
	vectors := readVectors(t, "encode.txt", 2900, encodeVector)[:400]
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for _, v := range vectors {
				if n := len(tok.AppendEncode(nil, v.text)); n != len(v.ids) {
					t.Errorf("%s: %d ids, want %d", v.place, n, len(v.ids))
				}
			}
		})
	}
	group.Wait()
}
