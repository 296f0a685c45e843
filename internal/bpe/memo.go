package bpe

const (
	// memoAfter is how many merges it takes for the memo to pay for its memory, 512 KiB.
	memoAfter = 400
	memoBits  = 13

	pieceBytes = 31 // the longest piece that is remembered
	pieceIDs   = 8  // the most ids that are remembered for a piece
)

// memo remembers the ids of recent pieces that are not tokens, because a text repeats its names and rare words. Each
// piece has one place, which holds the last piece that was put there.
type memo [1 << memoBits]knownPiece

// knownPiece is a piece and its ids.
type knownPiece struct {
	key pieceKey
	ids [pieceIDs]uint32 // id+1 each, then 0
}

// pieceKey is a piece in groups of eight bytes, of which the last ends where the piece does. The last byte is the
// piece's length; 0 means no piece.
type pieceKey [(pieceBytes + 1) / 8]uint64

// place returns the place and the key of a piece of at most pieceBytes.
func (m *memo) place(piece string) (*knownPiece, pieceKey) {
	var key pieceKey
	h := uint64(len(piece))
	for i := 0; i < len(piece); i += 8 {
		word := uint64(0)
		switch {
		case i+8 <= len(piece):
			word = load64(piece, i)
		case i > 0:
			word = load64(piece, len(piece)-8)
		default:
			for k := range len(piece) {
				word |= uint64(piece[k]) << (8 * k)
			}
		}
		key[i>>3&3] = word
		h = (h ^ word) * mixer
		h ^= h >> 29
	}
	key[3] ^= uint64(len(piece)) << 56
	return &m[h*mixer>>(64-memoBits)], key
}

// appendKnown appends remembered ids.
func appendKnown(dst []uint32, ids []uint32) []uint32 {
	for _, id := range ids {
		if id == 0 {
			break
		}
		dst = append(dst, id-1)
	}
	return dst
}

// set records the ids of a piece, unless there are too many.
func (k *knownPiece) set(key pieceKey, ids []uint32) {
	*k = knownPiece{}
	if len(ids) > len(k.ids) {
		return
	}
	k.key = key
	for i, id := range ids {
		k.ids[i] = id + 1
	}
}
