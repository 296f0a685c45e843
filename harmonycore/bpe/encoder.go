package bpe

// Encoder holds the scratch of merging, to be used again. The zero value is
// ready. Not for concurrent use. Its scratch does not grow with the length of
// a piece: some 150 KB at most, nearly all of it a memory of pieces.
type Encoder struct {
	short short
	parts parts // made for the first piece that needs it
	memo  memo
	ids   []uint32 // what a window gave
	two   []uint32 // what two tokens' bytes gave
	spare []uint32 // what a piece gave that is only counted
}

// Append appends the ids of one pre-token to dst and returns it: the token
// that is the whole piece, or else what merging the adjacent pair of lowest
// rank (the leftmost of equals) leaves, starting from single bytes
// (harmony-format.md §2). Time grows linearly with the piece.
func (e *Encoder) Append(dst []uint32, v *Vocabulary, piece string) []uint32 {
	if id, ok := v.Lookup(piece); ok {
		return append(dst, id)
	}
	return e.Merge(dst, v, piece)
}

// Merge is Append for a piece that is no token; a piece that is one it takes
// apart.
func (e *Encoder) Merge(dst []uint32, v *Vocabulary, piece string) []uint32 {
	entry, known := e.memo.entry(piece)
	if known {
		return entry.append(dst)
	}
	from := len(dst)
	if len(piece) > windowSize {
		dst = e.mergeWindows(dst, v, piece)
	} else {
		dst = e.mergeStretch(dst, v, piece)
	}
	if entry != nil {
		entry.set(piece, dst[from:])
	}
	return dst
}

// Count is the number of ids that Append would append.
func (e *Encoder) Count(v *Vocabulary, piece string) int {
	if _, ok := v.Lookup(piece); ok {
		return 1
	}
	e.spare = e.Merge(e.spare[:0], v, piece)
	return len(e.spare)
}

// mergeStretch merges a stretch of any length in one go.
func (e *Encoder) mergeStretch(dst []uint32, v *Vocabulary, piece string) []uint32 {
	if len(piece) <= shortSize {
		return e.short.merge(dst, v, piece)
	}
	return e.mergeLong(dst, v, piece)
}
