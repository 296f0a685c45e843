package bpe

const (
	wordBits  = 12
	wordBytes = 8 // the longest piece that is remembered
)

// words remembers the ids of recent short pieces that are tokens, which spares the walk through the trie. Each piece has
// one place, which holds the last piece that was put there.
type words [1 << wordBits]word

// word is a piece, with zeros after it, its length and its id. No piece has length 0.
type word struct {
	text     uint64
	size, id uint32
}

// AppendPart is [Encoder.Append] for the piece text[from:to]. It is faster, because it may read what comes after.
func (e *Encoder) AppendPart(dst []uint32, v *Vocabulary, text string, from, to int) []uint32 {
	piece := text[from:to]
	if len(piece) == 0 || len(piece) > wordBytes || len(text)-from < wordBytes {
		return e.Append(dst, v, piece)
	}
	if e.words == nil {
		e.words = new(words)
	}
	unused := 64 - 8*uint(len(piece))
	key := load64(text[from:]) << unused >> unused
	known := &e.words[key*mixer>>(64-wordBits)]
	if known.text == key && known.size == uint32(len(piece)) {
		return append(dst, known.id)
	}
	id, ok := v.Lookup(piece)
	if !ok {
		return e.Merge(dst, v, piece)
	}
	*known = word{key, uint32(len(piece)), id}
	return append(dst, id)
}
