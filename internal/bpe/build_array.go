package bpe

import "math/bits"

// array is a double array under construction.
type array struct {
	cells       []uint32
	ids         []uint16
	used, bases bitmap
	from        [8]uint32 // where the search for a node with so many children begins
}

// maxMisses is how many places may fail before later searches begin at the one that fits. A smaller number makes
// [Build] faster and the array larger.
const maxMisses = 8

// place finds a base at which all children fit, and reserves their cells.
func (a *array) place(children []child) (base uint32, ok bool) {
	from := &a.from[min(len(children), len(a.from))-1]
	first := uint32(children[0].label)
	tries := 0
	for at := a.used.clear(*from); ; at = a.used.clear(at + 1) {
		if tries == 0 {
			*from = at
		}
		if at > first && !a.bases.has(at-first) && a.fits(at-first, children) {
			base = at - first
			if tries > maxMisses {
				*from = at
			}
			break
		}
		tries++
	}
	// A cell must exist for every byte that is looked up. An even number keeps the index at a multiple of four.
	end := (base + 256 + 1) &^ 1
	if end > maxCells {
		return 0, false
	}
	for uint32(len(a.cells)) < end {
		a.cells = append(a.cells, 0)
		a.ids = append(a.ids, 0)
	}
	a.bases.set(base)
	for _, c := range children {
		a.used.set(base + uint32(c.label))
	}
	return base, true
}

// hide gives every unused cell a label under which no node looks for it.
func (a *array) hide() bool {
	a.bases.set(0)
	for at := range a.cells {
		if a.used.has(uint32(at)) {
			continue
		}
		label := 0
		for at >= label && a.bases.has(uint32(at-label)) {
			if label++; label > 255 {
				return false
			}
		}
		a.cells[at] |= uint32(label) << labelShift
	}
	return true
}

func (a *array) fits(base uint32, children []child) bool {
	for _, c := range children {
		if a.used.has(base + uint32(c.label)) {
			return false
		}
	}
	return true
}

// bitmap is a set of numbers that grows as needed.
type bitmap []uint64

func (m bitmap) has(i uint32) bool { return i>>6 < uint32(len(m)) && m[i>>6]>>(i&63)&1 != 0 }

func (m *bitmap) set(i uint32) {
	for i>>6 >= uint32(len(*m)) {
		*m = append(*m, 0)
	}
	(*m)[i>>6] |= 1 << (i & 63)
}

// clear returns the first number from i on that is not in the set.
func (m bitmap) clear(i uint32) uint32 {
	for ; i>>6 < uint32(len(m)); i = (i | 63) + 1 {
		if free := ^m[i>>6] >> (i & 63); free != 0 {
			return i + uint32(bits.TrailingZeros64(free))
		}
	}
	return i
}
