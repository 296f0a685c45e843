package plugin

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// The data that the host hands over lies in memory of three kinds. A small read has its own block. Large reads share
// one arena, which lives as long as the VM; its content is valid until the next large read. Small pieces of responses
// share a buffer, because a block for each token of a stream would be garbage.
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
	// pieces is the buffer for small pieces of responses. readsPiece reports whether the current read is one of them.
	pieces     []byte
	readsPiece bool
)

// readPiece reads a piece of the response's body. The piece is valid until the next one is read.
func readPiece(size int) ([]byte, error) {
	readsPiece = true
	piece, err := readBody(size)
	readsPiece = false
	return piece, err
}

// malloc returns memory for data that the host hands over, or nil if there is no room. The host then fails the read.
// The build tag custommalloc leaves out TinyGo's own malloc, which keeps every block until the host frees it. The host
// never does.
//
//export malloc
func malloc(size uintptr) *byte {
	switch {
	case size == 0:
		return &empty[0]
	case size < arenaFrom && readsPiece:
		if pieces == nil {
			pieces = make([]byte, arenaFrom)
		}
		return &pieces[0]
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
	if arenaHeap != nil && !arenaHeap.admit(uint64(want), contract.MaxMemoryLimit, now()) {
		return false
	}
	arena = nil
	arena = make([]byte, want)
	return true
}
