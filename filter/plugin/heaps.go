package plugin

import (
	"encoding/binary"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
)

// The VMs of a process have one gauge together, which shows what was written last. So each VM tells the others in shared data
// how much of its heap is in use, and all of them write the largest number that is there.

// heapsKey is where they tell it.
const heapsKey = "harmony.heaps"

// heapEntry is what a VM tells: its id, the bytes in use, and when it was, each in 8 bytes.
const heapEntry = 3 * 8

const (
	// heapLifetime is how long an entry counts, in milliseconds: a VM that has ended does not take its entry away.
	heapLifetime = 5_000
	// mostHeaps is how many VMs can tell.
	mostHeaps = 1024
)

// fullest tells the other VMs what is in use here, and returns the most that is in use in one of them.
func fullest(id, inUse uint64, at int64) uint64 {
	for range 3 { // another VM may write in between
		table, cas, err := proxywasm.GetSharedData(heapsKey)
		if err != nil {
			table, cas = nil, 0 // nobody has told yet
		}
		table, most := tellHeap(table, id, inUse, at)
		if proxywasm.SetSharedData(heapsKey, table, cas) == nil {
			return most
		}
	}
	return inUse
}

// tellHeap returns the table with the entry of id renewed and without those that are too old, and the most that one of them has.
func tellHeap(table []byte, id, inUse uint64, at int64) ([]byte, uint64) {
	most := inUse
	out := make([]byte, 0, len(table)+heapEntry)
	for ; len(table) >= heapEntry && len(out) < mostHeaps*heapEntry; table = table[heapEntry:] {
		told := int64(binary.LittleEndian.Uint64(table[16:]))
		if binary.LittleEndian.Uint64(table) == id || at-told > heapLifetime || told-at > heapLifetime {
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
