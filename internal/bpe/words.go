package bpe

import (
	"encoding/binary"
	"unsafe"
)

const (
	// wordBits makes 32,768 places of 32 bytes. The texts of an agent's session have too many words for a quarter of them.
	wordBits  = 14
	wordBytes = 15 // the longest piece that is remembered
	wordIDs   = 4  // the most ids that are remembered for a piece

	mixer, restMixer = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93
)

// words remembers the ids of short pieces, because a text repeats its words. That spares the walk through the trie and
// the merging. Each piece has two places, side by side in one line of the processor's cache.
//
// A new piece takes the second place, and moves to the first when it comes again. So words that come once do not
// displace words that come often.
type words [1 << wordBits][2]word

// word is a piece and its ids. Only an unused place has the key zero.
type word struct {
	key wordKey
	ids [wordIDs]uint32 // id+1 each, then 0
}

// wordKey is a piece: its first eight bytes and what follows them, with zeros after it. The highest byte of rest is the
// number of bytes.
type wordKey struct{ head, rest uint64 }

// keyOf returns the key of text[from:to], which has 1 to wordBytes bytes. It may read the bytes beside them.
func keyOf(text string, from, to int) wordKey {
	size := uint(to - from)
	key := wordKey{rest: uint64(size) << 56}
	switch unused := (64 - 8*size) & 63; {
	case size > 8:
		key.head = load64(text, from)
		key.rest |= load64(text, to-8) >> unused
	case from+8 <= len(text):
		key.head = load64(text, from) << unused >> unused
	case to >= 8:
		key.head = load64(text, to-8) >> unused
	default:
		for i := range size {
			key.head |= uint64(text[from+int(i)]) << (8 * i)
		}
	}
	return key
}

// AppendPart is [Encoder.Append] for the piece text[from:to]. It is faster, because it remembers words and may read the
// bytes beside the piece.
func (e *Encoder) AppendPart(dst []uint32, v *Vocabulary, text string, from, to int) []uint32 {
	if size := to - from; size < 1 || size > wordBytes {
		return e.appendLong(dst, v, text[from:to])
	}
	if e.words == nil {
		e.words = new(words)
	}
	key := keyOf(text, from, to)
	places := &e.words[(key.head^key.rest*restMixer)*mixer>>(64-wordBits)]
	if places[0].key != key {
		if places[1].key != key {
			return e.learn(dst, v, text[from:to], places, key)
		}
		places[0], places[1] = places[1], places[0]
	}
	if ids := &places[0].ids; ids[1] != 0 {
		return appendKnown(dst, ids[:])
	}
	return append(dst, places[0].ids[0]-1)
}

// appendLong is [Encoder.Append] for a piece that is too long for words. The memo comes before the vocabulary, in which a
// long walk may end in vain.
func (e *Encoder) appendLong(dst []uint32, v *Vocabulary, piece string) []uint32 {
	if e.memo != nil && len(piece) <= pieceBytes {
		if known, key := e.memo.place(piece); known.key == key {
			return appendKnown(dst, known.ids[:])
		}
	}
	return e.Append(dst, v, piece)
}

// learn is AppendPart for a piece that is not in its places, and puts it there.
func (e *Encoder) learn(dst []uint32, v *Vocabulary, piece string, places *[2]word, key wordKey) []uint32 {
	from := len(dst)
	dst = e.Append(dst, v, piece)
	if len(dst)-from > wordIDs {
		return dst
	}
	place := &places[1]
	if places[0].key == (wordKey{}) {
		place = &places[0]
	}
	*place = word{key: key}
	for i, id := range dst[from:] {
		place.ids[i%wordIDs] = id + 1
	}
	return dst
}

// load64 reads eight bytes. The caller has checked that they exist.
func load64(s string, at int) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(unsafe.Pointer(unsafe.StringData(s)), at))[:])
}
