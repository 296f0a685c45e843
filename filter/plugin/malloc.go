package plugin

// scratchFrom is the size of a read, in bytes, from which the one scratch buffer serves it.
const scratchFrom = 32 << 10

var (
	scratch []byte
	empty   [1]byte
)

// malloc is where the host puts what we read from it. Large reads share one buffer that is valid until the next
// large read: a fresh block for each would leave the collector with a heap of a hundred times the largest body
// (DESIGN.md decision 8). TinyGo's own malloc, which is never freed by the host, is left out by the build tag
// custommalloc.
//
//export malloc
func malloc(size uintptr) *byte {
	if size == 0 {
		return &empty[0]
	}
	if size < scratchFrom {
		block := make([]byte, size)
		return &block[0]
	}
	if uintptr(cap(scratch)) < size {
		scratch = nil
		scratch = make([]byte, size+size/4)
	}
	return &scratch[:size][0]
}
