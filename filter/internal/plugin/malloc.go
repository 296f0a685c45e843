package plugin

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// What the host gives the filter to read lies in memory of three kinds. A small read has a block of its own. Large ones
// share one arena, which stays for the life of the VM: its content is valid until the next large read. Small pieces of
// responses share a buffer, because a block for each token of a stream would be garbage.
const (
	// arenaFrom is the size of a read, in bytes, from which the arena serves it.
	arenaFrom = 32 << 10
	// arenaSmall is the arena's size until something larger comes, in bytes.
	arenaSmall = 1 << 20
	// arenaSlack is how much larger a read may be than the largest body: answers are read too, and come in large pieces
	// where a client reads slowly.
	arenaSlack = 1 << 20
)

// arena is where large reads go. There is one, because the host calls malloc without saying for which context.
var (
	arena []byte
	// arenaLimit is the largest read that is needed, in bytes.
	arenaLimit = arenaSmall
	// arenaHeap is the account of the VM whose arena it is, nil until it has started.
	arenaHeap *heap
	empty     [1]byte
	// pieces is the buffer for small pieces of responses. readsPiece reports whether the read is of one.
	pieces     []byte
	readsPiece bool
)

// readPiece reads a piece of the response's body. It is valid until the next one is read.
func readPiece(size int) ([]byte, error) {
	readsPiece = true
	piece, err := proxywasm.GetHttpResponseBody(0, size)
	readsPiece = false
	return piece, err
}

// malloc is where the host puts what the filter reads from it, and nil where there is no room: the host then fails the
// read. TinyGo's own malloc is left out by the build tag custommalloc. It keeps every block until the host frees it,
// which the host never does.
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

// growArena makes room for a read of size bytes. It makes the arena as large as it will ever be at the second time, so
// that a VM has two of them in its life and no more.
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
