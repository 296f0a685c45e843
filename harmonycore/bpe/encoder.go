package bpe

// Limits that were chosen by measuring (BenchmarkMerge), not by the format.
const (
	// shortMax is the longest piece, in bytes, merged by scanning all pairs
	// for the lowest: quadratic, but cheaper than a heap up to here.
	shortMax = 48
	// windowSize is the longest stretch, in bytes, merged in one heap; longer
	// pieces are cut (window.go), so scratch stays small at any length.
	windowSize = 2048
)

// Encoder holds the scratch of merging, to be used again. The zero value is
// ready. Not for concurrent use. Its scratch never grows with the length of a
// piece beyond a few windows.
type Encoder struct {
	short shortScratch
	nodes []node
	heap  []uint64
	ids   []uint32 // what one window gave
	two   []uint32 // what two tokens' bytes gave
	spare []uint32 // what a piece gave that is only counted
}

// Append appends the ids of one pre-token to dst and returns it: the token
// that is the whole piece, or else what merging the adjacent pair of lowest
// rank (the leftmost of equals) leaves, starting from single bytes
// (harmony-format.md §2). Time grows linearly with the piece.
func (e *Encoder) Append(dst []uint32, v *Vocabulary, piece []byte) []uint32 {
	if id, ok := v.Lookup(piece); ok {
		return append(dst, id)
	}
	return e.merge(dst, v, piece)
}

// Count is the number of ids that Append would append.
func (e *Encoder) Count(v *Vocabulary, piece []byte) int {
	if _, ok := v.Lookup(piece); ok {
		return 1
	}
	if len(piece) <= shortMax {
		return e.short.merge(v, piece)
	}
	e.spare = e.merge(e.spare[:0], v, piece)
	return len(e.spare)
}

// merge is Append without the look-up of the whole piece.
func (e *Encoder) merge(dst []uint32, v *Vocabulary, piece []byte) []uint32 {
	switch {
	case len(piece) <= shortMax:
		e.short.merge(v, piece)
		return e.short.append(dst, len(piece))
	case len(piece) <= windowSize:
		return e.mergeHeap(dst, v, piece)
	}
	return e.mergeWindows(dst, v, piece)
}

// joined returns the token made of the adjacent parts that piece consists of.
func (v *Vocabulary) joined(piece []byte) (id uint32, ok bool) {
	if uint(len(piece)) > uint(v.maxLen) {
		return 0, false
	}
	if len(piece) == 2 {
		id = u32(v.table, pairsBase+4*(uint32(piece[0])<<8|uint32(piece[1])))
		return id - 1, id != 0
	}
	return v.find(piece)
}

func (v *Vocabulary) single(b byte) uint32 {
	return u32(v.table, singlesBase+4*uint32(b)) - 1
}
