package picker

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// plainCache is a cache in its simplest form: hashes, the newest first.
type plainCache []uint64

func (c *plainCache) touch(chain []uint64, limit int) {
	for _, hash := range slices.Backward(chain[:min(len(chain), limit)]) {
		*c = slices.DeleteFunc(*c, func(h uint64) bool { return h == hash })
		*c = slices.Insert(*c, 0, hash)
	}
	*c = (*c)[:min(len(*c), limit)]
}

func (c plainCache) found(chain []uint64) int {
	for i, hash := range chain {
		if !slices.Contains(c, hash) {
			return i
		}
	}
	return len(chain)
}

// chainOf returns a chain of blocks of a tree in which each block has two children.
func chainOf(r *rand.Rand, length int) []uint64 {
	chain := make([]uint64, length)
	at := uint64(1)
	for i := range chain {
		at = 2*at + r.Uint64N(2)
		chain[i] = at
	}
	return chain
}

func (c *cache) list() []uint64 {
	var all []uint64
	for place := c.newest; len(all) < c.len(); place = c.blocks[place].older {
		all = append(all, c.blocks[place].hash)
	}
	return all
}

func TestCacheAgainstPlain(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for limit := range 40 {
		var c cache
		var plain plainCache
		for range 300 {
			chain := chainOf(r, r.IntN(12))
			if got, want := c.found(chain), plain.found(chain); got != want {
				t.Fatalf("limit %d: found %d of %v, want %d", limit, got, chain, want)
			}
			c.touch(chain, limit)
			plain.touch(chain, limit)
			if got := c.list(); !slices.Equal(got, plain) || len(c.places) != len(got) {
				t.Fatalf("limit %d: the cache has %v, want %v", limit, got, plain)
			}
			if r.IntN(20) == 0 {
				smaller := r.IntN(limit + 1)
				c.shrink(smaller)
				plain = plain[:min(len(plain), smaller)]
				if got := c.list(); !slices.Equal(got, plain) {
					t.Fatalf("limit %d: shrunk to %d the cache has %v, want %v", limit, smaller, got, plain)
				}
			}
		}
	}
}

func TestCacheMemory(t *testing.T) {
	var c cache
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		chain := make([]uint64, 64)
		for i := range chain {
			chain[i] = r.Uint64()
		}
		c.touch(chain, 1000)
	}
	if c.len() != 1000 || len(c.places) != 1000 || cap(c.blocks) > 2000 {
		t.Errorf("the cache has %d blocks, %d places and room for %d", c.len(), len(c.places), cap(c.blocks))
	}
}

func BenchmarkFound(b *testing.B) {
	caches := make([]cache, 2000)
	r := rand.New(rand.NewPCG(1, 2))
	shared := chainOf(r, 16)
	for i := range caches {
		caches[i].touch(append(slices.Clone(shared), chainOf(r, 48)...), 1<<16)
	}
	chain := append(slices.Clone(shared), chainOf(r, 48)...)
	for b.Loop() {
		for i := range caches {
			caches[i].found(chain)
		}
	}
}
