//go:build !wasm

package gcroots

import "runtime"

// SkipConstants does nothing: Go's own collector knows which words are pointers.
func SkipConstants() {}

// Allocated returns the most that the heap has given out since the start, in bytes.
func Allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
