//go:build wasm

package plugin

import "unsafe"

//go:wasmimport wasi_snapshot_preview1 clock_time_get
func clockTimeGet(clock uint32, precision uint64, nanoseconds unsafe.Pointer) uint32

// realTime is WASI's number of the clock that counts from 1970.
const realTime = 0

// clock is where the host writes the time. time.Now has a place on the heap for each call, which would be garbage for
// each token of a stream.
var clock uint64

// micros returns the time of the host's clock, in microseconds since 1970.
func micros() int64 {
	clockTimeGet(realTime, 1_000, unsafe.Pointer(&clock))
	at := clock
	clock = 0 // the collector could take half of it for a pointer
	return int64(at / 1_000)
}
