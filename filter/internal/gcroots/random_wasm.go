//go:build wasm

package gcroots

import "unsafe"

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(to unsafe.Pointer, size uint32) uint32

// drawn is a global, because arc4random is called before the heap exists.
var drawn uint32

// arc4random replaces the C library's function, which TinyGo's runtime calls once for the seed of its maps. The library
// would keep 512 random bytes among the globals, and of a hundred random words several look like addresses in a large
// heap.
//
//export arc4random
func arc4random() uint32 {
	if randomGet(unsafe.Pointer(&drawn), 4) != 0 {
		return 1
	}
	n := drawn
	drawn = 0
	return n
}
