package plugin

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// The data that the host hands over lies in memory of three kinds. Large reads share one arena, which lives as long as
// the VM; its content is valid until the next large read. Data that is read while a stream's callback runs (headers,
// bodies, properties) shares a buffer if it is small, because a block for each token of a stream would be garbage. Any
// other small read has its own block.
const (
	// arenaFrom is the size from which the arena serves a read, in bytes.
	arenaFrom = 32 << 10
	// arenaSmall is the size of the arena until something larger comes, in bytes.
	arenaSmall = 1 << 20
	// arenaSlack is how much larger than the largest body a read may be, in bytes. Answers are read too, and come in large
	// pieces if a client reads slowly.
	arenaSlack = 1 << 20
)

// arena holds large reads. There is only one, because the host calls malloc without a context.
var (
	arena []byte
	// arenaLimit is the largest read that is needed, in bytes.
	arenaLimit = arenaSmall
	// arenaHeap is the account of the VM that owns the arena. It is nil until the VM has started.
	arenaHeap *heap
	empty     [1]byte
	// small is the buffer for small reads. reads reports whether the host is handing over one of them.
	small []byte
	reads bool
)

// malloc returns memory for data that the host hands over, or nil if there is no room. The host then fails the read.
// The build tag custommalloc leaves out TinyGo's own malloc, which keeps every block until the host frees it. The host
// never does.
//
//export malloc
func malloc(size uintptr) *byte {
	switch {
	case size == 0:
		return &empty[0]
	case size < arenaFrom && reads:
		if small == nil {
			small = make([]byte, arenaFrom)
		}
		return &small[0]
	case size < arenaFrom:
		block := make([]byte, size)
		return &block[0]
	case uintptr(cap(arena)) < size && !growArena(int(size)):
		return nil
	}
	return &arena[:size][0]
}

// growArena makes room for a read of size bytes. The second time, it gives the arena its largest size, so that a VM has
// only two arenas in its life.
func growArena(size int) bool {
	want := arenaSmall
	if size > want {
		want = max(arenaLimit, size)
	}
	if arenaHeap != nil && !arenaHeap.admit(uint64(want), contract.MaxMemoryLimit) {
		arenaHeap.refuse()
		return false
	}
	arena, headersRead = nil, nil // headers may lie in it
	arena = make([]byte, want)
	return true
}
