package rawjson

import (
	"slices"
	"unsafe"
)

const (
	// idsAtOnce is for how many ids there is made room at once.
	idsAtOnce = 256
	// maxIDSize is the size of the longest id with its comma.
	maxIDSize = len("4294967295,")
)

// AppendIDs appends an array of ids: [AppendInt] for each of them, in a third of the instructions.
func AppendIDs(dst []byte, ids []uint32) []byte {
	dst = append(dst, '[')
	for len(ids) > 0 {
		n := min(len(ids), idsAtOnce)
		dst = slices.Grow(dst, n*maxIDSize)
		size := len(dst)
		to := unsafe.Pointer(unsafe.SliceData(dst)) // every write is within the room that was made
		for _, id := range ids[:n] {
			size += putID(unsafe.Add(to, size), id)
		}
		dst, ids = dst[:size], ids[n:]
	}
	if dst[len(dst)-1] == ',' {
		dst[len(dst)-1] = ']'
		return dst
	}
	return append(dst, ']')
}

// putID writes an id and a comma, and returns their size. There is room for maxIDSize.
func putID(to unsafe.Pointer, id uint32) int {
	size := digitsOf(id)
	*(*byte)(unsafe.Add(to, size)) = ','
	at := size
	for ; at >= 2; at -= 2 {
		rest := id / 100
		pair := unsafe.Add(unsafe.Pointer(unsafe.StringData(pairs)), 2*(id-100*rest))
		*(*[2]byte)(unsafe.Add(to, at-2)) = *(*[2]byte)(pair)
		id = rest
	}
	if at == 1 {
		*(*byte)(to) = byte('0' + id)
	}
	return size + 1
}

func digitsOf(id uint32) int {
	switch {
	case id < 10:
		return 1
	case id < 100:
		return 2
	case id < 1_000:
		return 3
	case id < 10_000:
		return 4
	case id < 100_000:
		return 5
	case id < 1_000_000:
		return 6
	}
	size := 7
	for limit := uint64(10_000_000); uint64(id) >= limit; limit *= 10 {
		size++
	}
	return size
}
