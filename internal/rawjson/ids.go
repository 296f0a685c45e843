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

// AppendIDs appends an array of ids: [AppendInt] for each of them, in a fifth of the instructions.
func AppendIDs(dst []byte, ids []uint32) []byte { return AppendLastIDs(append(dst, '['), ids) }

// AppendLastIDs appends the last ids of an array and its end. dst ends with the array's beginning, or with a comma.
func AppendLastIDs(dst []byte, ids []uint32) []byte {
	dst = AppendSomeIDs(dst, ids)
	if dst[len(dst)-1] == ',' {
		dst[len(dst)-1] = ']'
		return dst
	}
	return append(dst, ']')
}

// AppendSomeIDs appends ids of an array, each with a comma behind it.
func AppendSomeIDs(dst []byte, ids []uint32) []byte {
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
	return dst
}

// triples are the numbers of three digits, each with a comma after it.
var triples = func() (all [1000][4]byte) {
	for i := range all {
		pair := 2 * (i % 100)
		all[i] = [4]byte{byte('0' + i/100), pairs[pair], pairs[pair+1], ','}
	}
	return all
}()

// putID writes an id and a comma, and returns their size. There is room for maxIDSize.
func putID(to unsafe.Pointer, id uint32) int {
	switch {
	case id < 1000:
		return putFirst(to, id) + 1
	case id < 1_000_000:
		size := putFirst(to, id/1000)
		putTriple(unsafe.Add(to, size), id%1000, 0)
		return size + 4
	default:
		return putLong(to, id)
	}
}

// putLong is putID for an id of more than six digits. No vocabulary is so large.
func putLong(to unsafe.Pointer, id uint32) int {
	size := 0
	if millions := id / 1_000_000; millions < 1000 {
		size = putFirst(to, millions)
	} else {
		size = putFirst(to, millions/1000)
		putTriple(unsafe.Add(to, size), millions%1000, 0)
		size += 3
	}
	putTriple(unsafe.Add(to, size), id/1000%1000, 0)
	putTriple(unsafe.Add(to, size+3), id%1000, 0)
	return size + 7
}

// putFirst writes the first digits of an id, which are a number n below 1,000, and a comma. It returns how many digits
// they are. There is room for four bytes.
func putFirst(to unsafe.Pointer, n uint32) int {
	zeros := 0
	if n < 100 {
		zeros = 1
		if n < 10 {
			zeros = 2
		}
	}
	putTriple(to, n, zeros)
	return 3 - zeros
}

// putTriple writes the four bytes of n, which is below 1,000, without so many zeros at its beginning. What it writes in
// their place, after the comma, has no meaning.
func putTriple(to unsafe.Pointer, n uint32, zeros int) {
	// The last of the four bytes may be of the next number. There is one: only numbers below 100 begin with a zero.
	*(*uint32)(to) = *(*uint32)(unsafe.Add(unsafe.Pointer(&triples[0]), 4*uintptr(n)+uintptr(zeros)))
}
