package bpe

import "math"

// Encoder holds the scratch of merging and a memory of pieces, to be used again. The zero value is ready. Not for
// concurrent use. It does not grow with the length of a piece: 530 KB at most, nearly all of it the memory, which a
// short text does not need.
type Encoder struct {
	merged int   // pieces, as long as there is no memo
	memo   *memo // made for the memoAfter-th piece
	short  short
	parts  parts    // made for the first piece that needs it
	ids    []uint32 // what a window gave
	two    []uint32 // what two tokens' bytes gave
	spare  []uint32 // what a piece gave that is only counted
}

// Append appends the ids of one pre-token to dst and returns it: the token that is the whole piece, or else what
// merging the adjacent pair of lowest rank (the leftmost of equals) leaves, starting from single bytes
// (docs/harmony-format.md#merging). Time grows linearly with the piece.
func (e *Encoder) Append(dst []uint32, v *Vocabulary, piece string) []uint32 {
	if id, ok := v.Lookup(piece); ok {
		return append(dst, id)
	}
	return e.Merge(dst, v, piece)
}

// Count is the number of ids that Append would append.
func (e *Encoder) Count(v *Vocabulary, piece string) int {
	if _, ok := v.Lookup(piece); ok {
		return 1
	}
	e.spare = e.Merge(e.spare[:0], v, piece)
	return len(e.spare)
}

// Merge is Append for a piece that Lookup does not find.
func (e *Encoder) Merge(dst []uint32, v *Vocabulary, piece string) []uint32 {
	if e.memo == nil {
		if e.merged++; e.merged == memoAfter {
			e.memo = new(memo)
		}
		return e.merge(dst, v, piece)
	}
	if len(piece) > pieceBytes {
		return e.merge(dst, v, piece)
	}
	known, key := e.memo.place(piece)
	if known.key == key {
		return known.append(dst)
	}
	start := len(dst)
	dst = e.merge(dst, v, piece)
	known.set(key, dst[start:])
	return dst
}

// MergeWithin is Merge for a piece of which at most so many ids are wanted. Where there are certainly more, it stops
// soon after that many and returns false; what it has appended then is no use. Otherwise it has appended all.
func (e *Encoder) MergeWithin(dst []uint32, v *Vocabulary, piece string, most int) ([]uint32, bool) {
	if len(piece) <= windowSize {
		return e.Merge(dst, v, piece), true
	}
	return e.mergeWindows(dst, v, piece, most)
}

// merge is Merge without the memory.
func (e *Encoder) merge(dst []uint32, v *Vocabulary, piece string) []uint32 {
	if len(piece) > windowSize {
		dst, _ = e.mergeWindows(dst, v, piece, math.MaxInt)
		return dst
	}
	return e.mergeStretch(dst, v, piece)
}

// mergeStretch merges a stretch of any length in one go.
func (e *Encoder) mergeStretch(dst []uint32, v *Vocabulary, piece string) []uint32 {
	if len(piece) <= shortSize {
		return e.short.merge(dst, v, piece)
	}
	return e.mergeLong(dst, v, piece)
}
