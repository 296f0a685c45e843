//go:build wasm

package gcroots

import "runtime/volatile"

// globalsStart is the address from which TinyGo's collector looks for pointers among the globals.
//
//go:extern runtime.globalsStart
var globalsStart uintptr

// constantsEnd receives the address at which the module's constants end. tools/wasmfinish finds these two words in the
// linked module and overwrites the first. If it has not run, both words are still the mark.
var constantsEnd = [2]uint32{mark0, mark1}

// tools/wasmfinish/constants.go has the same mark.
const mark0, mark1 = 0x636f6e73, 0xa7e4d51b

// SkipConstants makes the collector skip the module's constants. Otherwise the collector treats every constant that
// looks like a heap address as a pointer: two to three thousand of the filter's do, and each keeps a block of memory
// alive for ever. It would also read the vocabulary in every collection. Skipping them is safe: constants are never
// written, so they hold no pointers into the heap.
//
// It must not run during package initialisation, because TinyGo runs that part of the program at compile time.
func SkipConstants() {
	end := uintptr(volatile.LoadUint32(&constantsEnd[0]))
	if volatile.LoadUint32(&constantsEnd[1]) == mark1 && end != mark0 && end > globalsStart {
		globalsStart = end
	}
}

// allocated and allocations are the counters of TinyGo's allocator, of bytes and of objects. [runtime.ReadMemStats] would
// go through the whole heap for them.
//
//go:extern runtime.gcTotalAlloc
var allocated uint64

//go:extern runtime.gcMallocs
var allocations uint64

// perObject is the most that the allocator adds to an object: its header's block, and what fills the last block.
const perObject = 16 + 15

// Allocated returns the most that the heap has given out since the start, in bytes.
func Allocated() uint64 { return allocated + perObject*allocations }
