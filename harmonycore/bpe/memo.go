package bpe

const (
	// memoBytes is the longest piece that is remembered, memoIDs the most ids:
	// with these an entry is one line of a processor's cache.
	memoBytes = 31
	memoIDs   = 8
	memoBits  = 11
	// memoAfter is how many merges it takes for a memo to pay for its memory,
	// 128 KiB.
	memoAfter = 100
)

// memo remembers what the last pieces gave that are no token: the names and
// rare words of a text come again. Each piece has one place; the last one that
// fell on it stays.
type memo struct {
	merged  int // pieces so far, up to memoAfter
	entries []memoEntry
}

type memoEntry struct {
	piece memoKey
	ids   [memoIDs]uint32 // id+1 each, then 0
}

// memoKey is a piece, zeros, and its length in the last byte: 0 for none.
type memoKey [4]uint64

// entry is the place of a piece; nil for one that is not remembered. known says
// that its ids are those of the piece.
func (m *memo) entry(piece string) (entry *memoEntry, known bool) {
	if len(piece) > memoBytes {
		return nil, false
	}
	if len(m.entries) == 0 {
		if m.merged++; m.merged < memoAfter {
			return nil, false
		}
		m.entries = make([]memoEntry, 1<<memoBits)
	}
	key := keyOf(piece)
	entry = &m.entries[key.hash()>>(64-memoBits)&(1<<memoBits-1)]
	return entry, entry.piece == key
}

func (e *memoEntry) append(dst []uint32) []uint32 {
	for _, id := range e.ids {
		if id == 0 {
			break
		}
		dst = append(dst, id-1)
	}
	return dst
}

func (e *memoEntry) set(piece string, ids []uint32) {
	*e = memoEntry{}
	if len(ids) > len(e.ids) {
		return
	}
	e.piece = keyOf(piece)
	for i, id := range ids {
		e.ids[i] = id + 1
	}
}

func keyOf(piece string) (key memoKey) {
	for i := range len(piece) {
		b := piece[i]
		key[i>>3&3] |= uint64(b) << (i & 7 * 8)
	}
	key[3] |= uint64(len(piece)) << 56
	return key
}

// hash mixes all of the key into the high bits.
func (k memoKey) hash() uint64 {
	h := k[0]*0x9e3779b97f4a7c15 ^ k[1]*0xd6e8feb86659fd93 ^ k[2]*0xc2b2ae3d27d4eb4f ^ k[3]*0x165667b19e3779f9
	return (h ^ h>>29) * 0x9e3779b97f4a7c15
}
