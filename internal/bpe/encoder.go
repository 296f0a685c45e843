package bpe

import "math"

// Encoder holds the scratch memory of merging and remembers pieces; all of it is to be reused. The zero value is ready.
// An Encoder must not be used concurrently. It needs 2.3 MB at most, whatever the length of a piece. Nearly all of it is
// the memo, which a short text does not need, the words, which only [Encoder.AppendPart] needs, and the leaper, which
// only pieces with long tokens need.
type Encoder struct {
	words   *words // allocated for the first short piece that AppendPart gets
	merged  int    // number of merged pieces so far, while there is no memo
	memo    *memo  // allocated at the memoAfter-th merged piece
	short   short
	parts   parts    // allocated for the first piece that needs it
	ids     []uint32 // the ids of a window
	pairIDs []uint32 // the ids of two tokens' bytes
	scratch []uint32 // the ids of a piece that is only counted
	leaper  *leaper  // allocated for the first piece with long tokens
}

// Append appends the ids of one pre-token to dst and returns it. If the whole piece is a token, that is its only id.
// Otherwise the ids are what remains after merging the adjacent pair of lowest rank (the leftmost of equals) again and
// again, starting from single bytes (docs/harmony-format.md#merging). The time is linear in the length of the piece.
func (e *Encoder) Append(dst []uint32, v *Vocabulary, piece string) []uint32 {
	if id, ok := v.Lookup(piece); ok {
		return append(dst, id)
	}
	return e.Merge(dst, v, piece)
}

// Count returns the number of ids that [Encoder.Append] would append.
func (e *Encoder) Count(v *Vocabulary, piece string) int {
	if _, ok := v.Lookup(piece); ok {
		return 1
	}
	e.scratch = e.Merge(e.scratch[:0], v, piece)
	return len(e.scratch)
}

// Merge is [Encoder.Append] for a piece that [Vocabulary.Lookup] does not find.
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
		return appendKnown(dst, known.ids[:])
	}
	start := len(dst)
	dst = e.merge(dst, v, piece)
	known.set(key, dst[start:])
	return dst
}

// MergeWithin is [Encoder.Merge] for a piece of which at most so many ids are needed. If there are certainly more, it
// stops soon after that many and returns false; the ids that it has appended must then be discarded. Otherwise it has
// appended all ids.
func (e *Encoder) MergeWithin(dst []uint32, v *Vocabulary, piece string, limit int) ([]uint32, bool) {
	if len(piece) <= windowSize {
		return e.Merge(dst, v, piece), true
	}
	return e.mergeWindows(dst, v, piece, limit)
}

// merge is [Encoder.Merge] without the memo.
func (e *Encoder) merge(dst []uint32, v *Vocabulary, piece string) []uint32 {
	if len(piece) > windowSize {
		dst, _ = e.mergeWindows(dst, v, piece, math.MaxInt)
		return dst
	}
	base := len(dst)
	dst, done := e.leap(dst, v, base, piece, 0, math.MaxInt)
	if done == len(piece) {
		return dst
	}
	if e.leaper != nil {
		e.leaper.earn(len(piece))
	}
	return e.mergeStretch(dst[:base], v, piece)
}

// mergeStretch merges a stretch of any length at once.
func (e *Encoder) mergeStretch(dst []uint32, v *Vocabulary, piece string) []uint32 {
	if len(piece) <= shortSize {
		return e.short.merge(dst, v, piece)
	}
	return e.mergeLong(dst, v, piece)
}
