//go:build wasm

package gcroots

import "runtime/volatile"

// globalsStart is where TinyGo's collector begins to look for pointers among the globals.
//
//go:extern runtime.globalsStart
var globalsStart uintptr

// constantsEnd is where the module's constants end. tools/wasmfinish finds the two words below in the linked module and
// writes the address into the first; without that the mark is still there.
var constantsEnd = [2]uint32{mark0, mark1}

// The mark is the same in tools/wasmfinish/constants.go.
const mark0, mark1 = 0x636f6e73, 0xa7e4d51b

// SkipConstants keeps the collector out of the module's constants. Without it the collector takes every constant for a
// pointer that happens to be an address of the heap: two to three thousand of the filter's are, and each keeps what it
// hits alive for ever. Constants hold no pointers into the heap, since they are never written.
//
// It must not run while the module initialises, because TinyGo runs that part of the program when it compiles it.
func SkipConstants() {
	end := uintptr(volatile.LoadUint32(&constantsEnd[0]))
	if volatile.LoadUint32(&constantsEnd[1]) == mark1 && end != mark0 && end > globalsStart {
		globalsStart = end
	}
}
