//go:build wasm

package gcroots

import "unsafe"

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(to unsafe.Pointer, size uint32) uint32

// drawn is static, because arc4random is called before there is a heap.
var drawn uint32

// arc4random takes the place of the C library's, which TinyGo's runtime asks once for the seed of its maps. The library keeps
// 512 random bytes among the variables, and of a hundred random words several look like addresses of a large heap.
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
