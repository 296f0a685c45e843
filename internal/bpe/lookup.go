package bpe

import "unsafe"

// Len returns the number of ids, which are 0 to Len()-1.
func (v *Vocabulary) Len() int { return int(v.count) }

// Bytes returns the bytes of a token as a view of the table, which must not be written to. ok is false for an id
// outside the vocabulary.
func (v *Vocabulary) Bytes(id uint32) (b []byte, ok bool) {
	if id >= v.count {
		return nil, false
	}
	size := v.load8(v.sizes + id)
	from := v.load16(v.begins+beginSize*id) | size>>highShift<<16
	if size &= sizeMask; size == 0 && from <= v.blobSize {
		size = v.load8(v.blob + from - 1) // of a long token
	}
	if from+size > v.blobSize {
		return nil, false
	}
	return v.view(v.blob+from, size), true
}

// Lookup returns the id of the token whose bytes are exactly piece.
func (v *Vocabulary) Lookup(piece string) (id uint32, ok bool) {
	token := v.follow(v.root, piece, 0)
	return uint32(token >> rankShift), token != noToken
}

// A search returns a token's id << rankShift | the base of its node, which is 0 if no token continues it. noToken
// has an id that is higher than every other.
const (
	rankShift = 32
	noToken   = ^uint64(0)
)

// size returns the number of a token's bytes.
func (v *Vocabulary) size(id uint32) int {
	token, _ := v.Bytes(id)
	return len(token)
}

// prefixes finds the tokens with which text begins, the shortest first, and returns their number.
func (v *Vocabulary) prefixes(text string, ids *[maxToken]uint32, sizes *[maxToken]uint8) int {
	n, base := 0, v.root
	for i := range min(len(text), maxToken) {
		b := uint32(text[i])
		at := base + b
		cell := v.cellAt(at)
		if cell>>labelShift != b {
			break
		}
		size := 0
		switch id := v.id(cell, at); {
		case cell&wholeFlag != 0:
			ids[n], size = id, i+1
		case cell&tailFlag != 0:
			if token, _ := v.Bytes(id); len(token) > i && len(token) <= len(text) && asText(token) == text[:len(token)] {
				ids[n], size = id, len(token)
			}
		}
		if size > 0 && n < maxToken-1 {
			sizes[n] = uint8(size)
			n++
		}
		if base = cell & baseMask; cell&tailFlag != 0 {
			break
		}
	}
	return n
}

// longest returns the longest token with which text begins, and its length, which is 0 for an empty text.
func (v *Vocabulary) longest(text string) (id uint32, size int) {
	base := v.root
	for i := range min(len(text), maxToken) {
		b := uint32(text[i])
		at := base + b
		cell := v.cellAt(at)
		if cell>>labelShift != b {
			break
		}
		switch {
		case cell&wholeFlag != 0:
			id, size = v.id(cell, at), i+1
		case cell&tailFlag != 0:
			only := v.id(cell, at)
			if token, _ := v.Bytes(only); len(token) <= len(text) && asText(token) == text[:len(token)] {
				id, size = only, len(token)
			}
			return id, size
		}
		base = cell & baseMask
	}
	return id, size
}

// child returns the token that ends one byte after the node base.
func (v *Vocabulary) child(base uint32, b byte) uint64 {
	at := base + uint32(b)
	cell := v.cellAt(at)
	if cell>>labelShift != uint32(b) || cell&wholeFlag == 0 {
		return noToken
	}
	return v.end(cell, at)
}

// single returns the token of one byte. Every byte has one.
func (v *Vocabulary) single(b byte) uint64 {
	at := v.root + uint32(b)
	return v.end(v.cellAt(at), at)
}

// continues reports whether the node base has a child for b.
func (v *Vocabulary) continues(base uint32, b byte) bool {
	return v.cellAt(base+uint32(b))>>labelShift == uint32(b)
}

// end returns the token of the cell at i.
func (v *Vocabulary) end(cell, i uint32) uint64 {
	return uint64(v.id(cell, i))<<rankShift | uint64(cell&baseMask)
}

// id returns the id of the cell at i.
func (v *Vocabulary) id(cell, i uint32) uint32 {
	return v.load16(v.ids+idSize*i) | cell>>idShift&idMask<<16
}

// follow returns the token that is all of text, of which the first i bytes lead to the node base.
func (v *Vocabulary) follow(base uint32, text string, i uint) uint64 {
	cells := unsafe.Add(v.head, headerSize) // as in cellAt, without a load that the loop need not repeat
	cell, at := uint32(0), uint32(0)
	for ; i < uint(len(text)); i++ {
		b := uint32(text[i])
		child := *(*uint32)(unsafe.Add(cells, cellSize*uintptr(base+b)))
		if child>>labelShift != b {
			break
		}
		cell, at, base = child, base+b, child&baseMask
	}
	switch {
	case i == uint(len(text)) && cell&wholeFlag != 0:
		return v.end(cell, at)
	case cell&tailFlag != 0:
		return v.tail(v.id(cell, at), text, int(i))
	}
	return noToken
}

// tail continues follow where the cells end.
func (v *Vocabulary) tail(id uint32, text string, i int) uint64 {
	if token, ok := v.Bytes(id); !ok || len(token) != len(text) || asText(token[i:]) != text[i:] {
		return noToken
	}
	return uint64(id) << rankShift
}

// asText returns b as a string without a copy. TinyGo would make one, even only to compare.
func asText(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// view returns a part of the table. The caller has checked its bounds.
func (v *Vocabulary) view(at, size uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(v.head, at)), int(size))
}
