//go:build !wasm

package gcroots

import "runtime"

// SkipConstants does nothing: Go's own collector knows which words are pointers.
func SkipConstants() {}

// Allocated returns how many bytes have been allocated since the start.
func Allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
