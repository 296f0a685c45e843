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
	entry := v.load32(v.index + 4*id)
	from, size := entry>>sizeShift, entry&(1<<sizeShift-1)
	if from+size > v.blobSize {
		return nil, false
	}
	return v.view(v.blob+from, size), true
}

// Lookup returns the id of the token whose bytes are exactly piece.
func (v *Vocabulary) Lookup(piece string) (id uint32, ok bool) {
	cell := v.follow(v.root, piece)
	return uint32(cell >> idShift), cell != noCell
}

// child returns the cell for b below the node that cell leads to, or 0 if there is none.
func (v *Vocabulary) child(cell uint64, b byte) uint64 {
	child := v.cellAt(uint32(cell)>>baseShift + uint32(b))
	if uint32(child)&labelMask != usedFlag|uint32(b) {
		return 0
	}
	return child
}

// follow returns the cell of the token that rest leads to from the node base, or noCell if there is no such token.
func (v *Vocabulary) follow(base uint32, rest string) uint64 {
	cells := unsafe.Add(v.head, headerSize) // as in cellAt, without a load that the loop need not repeat
	cell, i := uint64(0), 0
	for ; i < len(rest); i++ {
		b := uint32(rest[i])
		child := *(*uint64)(unsafe.Add(cells, 8*uintptr(base+b)))
		if uint32(child)&labelMask != usedFlag|b {
			break
		}
		cell, base = child, uint32(child)>>baseShift
	}
	switch {
	case i == len(rest) && cell&wholeFlag != 0:
		return cell
	case cell&tailFlag != 0:
		return v.tail(uint32(cell>>idShift), rest[i:])
	}
	return noCell
}

// tail continues follow where the cells end: it returns the token whose tail, at an offset in the tails, is rest, as
// the cell that a leaf would have.
func (v *Vocabulary) tail(at uint32, rest string) uint64 {
	if at+tailHead > v.tailSize {
		return noCell
	}
	head := v.load32(v.tails + at)
	size := head >> idBits
	if at += tailHead; size != uint32(len(rest)) || at+size > v.tailSize || text(v.view(v.tails+at, size)) != rest {
		return noCell
	}
	return wholeFlag | uint64(head&idMask)<<idShift
}

// text returns b as a string without a copy. TinyGo would make one, even only to compare.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// view returns a part of the table. The caller has checked its bounds.
func (v *Vocabulary) view(at, size uint32) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(v.head, at)), int(size))
}
