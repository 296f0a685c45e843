package gcroots_test

import (
	"math/rand/v2"
	"runtime"
	"testing"
)

// node is an object of a random graph. Its bytes all are the low byte of its number.
type node struct {
	links  [3]*node
	number int
	bytes  []byte
	part   []byte // some of the bytes of another block, whose beginning nothing points to
}

func (n *node) broken() bool {
	for _, b := range [][]byte{n.bytes, n.part} {
		for _, c := range b {
			if c != byte(n.number) {
				return true
			}
		}
	}
	return false
}

func filled(size, number int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(number)
	}
	return b
}

// TestGarbage checks that the collector frees all blocks of what is not reachable.
func TestGarbage(t *testing.T) {
	const rounds, objects = 20, 3000
	random := rand.New(rand.NewPCG(1, 2))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var some [16][]byte
	most := uint64(0)
	for range rounds {
		for i := range objects {
			some[i%len(some)] = make([]byte, 1+random.IntN(600))
		}
		clear(some[:])
		runtime.GC()
		runtime.ReadMemStats(&after)
		most = max(most, after.HeapInuse)
	}
	if freed := after.Frees - before.Frees; freed < rounds*objects*9/10 {
		t.Errorf("%d objects were freed", freed)
	}
	// A word on the stack that looks like a pointer may keep a few.
	if most > before.HeapInuse+32<<10 {
		t.Errorf("%d bytes are in use after a round, %d before the first", most, before.HeapInuse)
	}
}

// TestReachable checks that the collector leaves alone what is reachable, in graphs of objects of all sizes of which
// some become garbage in each round. TinyGo's collector is patched (tools/tinygo), and runs this test too.
func TestReachable(t *testing.T) {
	const nodes, rounds = 400, 60
	random := rand.New(rand.NewPCG(1, 2))
	all := make([]*node, nodes)
	for round := range rounds {
		for range nodes / 3 {
			n := &node{number: random.IntN(1 << 20)}
			n.bytes = filled(random.IntN(100), n.number)
			switch random.IntN(20) {
			case 0:
				n.bytes = filled(random.IntN(50_000), n.number)
			case 1:
				size := 1 + random.IntN(20_000)
				n.part = filled(size, n.number)[random.IntN(size):]
			}
			for i := range n.links {
				n.links[i] = all[random.IntN(nodes)]
			}
			all[random.IntN(nodes)] = n
		}
		for _, n := range all { // a chain of all that ever was would keep it
			if n != nil && random.IntN(3) == 0 {
				n.links = [3]*node{}
			}
		}
		runtime.GC()
		for i, n := range all {
			for depth := 0; n != nil && depth < 50; depth++ {
				if n.broken() {
					t.Fatalf("round %d: object %d, %d links away, was freed or overwritten", round, i, depth)
				}
				n = n.links[depth%3]
			}
		}
	}
}
