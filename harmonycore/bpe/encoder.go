package bpe

// Encoder holds the scratch of merging, to be used again. The zero value is
// ready. Not for concurrent use. Its scratch does not grow with the length of
// a piece: some 20 KB at most.
type Encoder struct {
	small smallScratch
	large parts    // made for the first piece that needs it
	ids   []uint32 // what a window gave
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
	e.spare = e.merge(e.spare[:0], v, piece)
	return len(e.spare)
}

// merge is Append without the look-up of the whole piece.
func (e *Encoder) merge(dst []uint32, v *Vocabulary, piece []byte) []uint32 {
	if len(piece) > windowSize {
		return e.mergeWindows(dst, v, piece)
	}
	return e.mergeStretch(dst, v, piece)
}
