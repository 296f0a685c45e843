package plugin

import (
	"encoding/binary"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
)

// The VMs of a process share one gauge, which shows the value written last. So each VM writes the heap that it has in
// use into shared data, and writes the largest value there into the gauge.

// heapsKey is the key of the shared data, and prefixesKey that for the VMs' memories of prefixes.
const (
	heapsKey    = "harmony.heaps"
	prefixesKey = "harmony.prefixes"
)

// heapEntry is the size of a VM's entry: its id, the bytes in use and the time, 8 bytes each.
const heapEntry = 3 * 8

const (
	// heapLifetime is how long an entry counts, in milliseconds: a VM that has ended does not remove its entry.
	heapLifetime = 5_000
	// maxHeaps is how many VMs can have an entry.
	maxHeaps = 1024
)

// maxInUse writes this VM's bytes in use into the shared data with this key, and returns the most that any VM has in
// use.
func maxInUse(key string, id, inUse uint64, at int64) uint64 {
	for range 3 { // another VM may write in between
		table, cas, err := proxywasm.GetSharedData(key)
		if err != nil {
			table, cas = nil, 0 // no VM has an entry yet
		}
		table, largest := updateHeaps(table, id, inUse, at)
		if proxywasm.SetSharedData(key, table, cas) == nil {
			return largest
		}
	}
	return inUse
}

// updateHeaps returns the table with a new entry for id and without entries that are too old. It also returns the most
// that an entry in it has in use.
func updateHeaps(table []byte, id, inUse uint64, at int64) ([]byte, uint64) {
	largest := inUse
	out := make([]byte, 0, len(table)+heapEntry)
	for ; len(table) >= heapEntry && len(out) < maxHeaps*heapEntry; table = table[heapEntry:] {
		written := int64(binary.LittleEndian.Uint64(table[16:]))
		if binary.LittleEndian.Uint64(table) == id || at-written > heapLifetime || written-at > heapLifetime {
			continue
		}
		out = append(out, table[:heapEntry]...)
		largest = max(largest, binary.LittleEndian.Uint64(table[8:]))
	}
	out = binary.LittleEndian.AppendUint64(out, id)
	out = binary.LittleEndian.AppendUint64(out, inUse)
	out = binary.LittleEndian.AppendUint64(out, uint64(at))
	return out, largest
}
