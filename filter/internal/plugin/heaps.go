package plugin

import (
	"encoding/binary"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
)

// The VMs of a process share one gauge, which shows what was written last. So each VM writes into shared data how much
// of its heap is in use, and into the gauge the largest number that is there.

// heapsKey is the key of that data.
const heapsKey = "harmony.heaps"

// heapEntry is the size of a VM's entry: its id, the bytes in use, and the time, each in 8 bytes.
const heapEntry = 3 * 8

const (
	// heapLifetime is how long an entry counts, in milliseconds: a VM that has ended does not remove its entry.
	heapLifetime = 5_000
	// maxHeaps is how many VMs can have an entry.
	maxHeaps = 1024
)

// fullest writes what is in use in this VM for the others, and returns the most that is in use in one of them.
func fullest(id, inUse uint64, at int64) uint64 {
	for range 3 { // another VM may write in between
		table, cas, err := proxywasm.GetSharedData(heapsKey)
		if err != nil {
			table, cas = nil, 0 // no VM has an entry yet
		}
		table, most := withHeap(table, id, inUse, at)
		if proxywasm.SetSharedData(heapsKey, table, cas) == nil {
			return most
		}
	}
	return inUse
}

// withHeap returns the table with the entry of id renewed and without those that are too old, and the most that one of
// them has.
func withHeap(table []byte, id, inUse uint64, at int64) ([]byte, uint64) {
	most := inUse
	out := make([]byte, 0, len(table)+heapEntry)
	for ; len(table) >= heapEntry && len(out) < maxHeaps*heapEntry; table = table[heapEntry:] {
		written := int64(binary.LittleEndian.Uint64(table[16:]))
		if binary.LittleEndian.Uint64(table) == id || at-written > heapLifetime || written-at > heapLifetime {
			continue
		}
		out = append(out, table[:heapEntry]...)
		most = max(most, binary.LittleEndian.Uint64(table[8:]))
	}
	out = binary.LittleEndian.AppendUint64(out, id)
	out = binary.LittleEndian.AppendUint64(out, inUse)
	out = binary.LittleEndian.AppendUint64(out, uint64(at))
	return out, most
}
