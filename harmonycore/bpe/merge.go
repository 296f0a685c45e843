package bpe

const (
	// windowSize is the stretch, in bytes, that is merged at once; longer
	// pieces are cut (window.go).
	windowSize = 512
	// smallSize is the longest one that needs no scratch on the heap: nearly
	// all words of prose and code.
	smallSize = 64

	noPair = ^uint64(0)
)

// parts is the state of merging one stretch of bytes.
//
// A part is named by the place of its first byte. key[i] is the pair that
// begins with part i, as rank<<32 | i, so that the least key is the leftmost
// pair of the lowest rank; noPair when it makes no token, or when i begins no
// part. next[i] and prev[i] are the neighbouring parts.
//
// least[b] is the least of eight keys from 8b, and top[c] of eight of those:
// finding the next pair and changing a key cost three steps of eight in a
// window, without the jumps of a heap. All three are filled up to whole eights
// with noPair.
type parts struct {
	key, least, top []uint64
	id, next, prev  []uint32
}

type smallScratch struct {
	key            [smallSize]uint64
	least          [smallSize / 8]uint64
	top            [8]uint64
	id, next, prev [smallSize]uint32
}

// eights is n rounded up to whole eights, in eights.
func eights(n int) int { return (n + 7) >> 3 }

// mergeStretch merges bytes, at any length, in one go.
func (e *Encoder) mergeStretch(dst []uint32, v *Vocabulary, piece []byte) []uint32 {
	n := len(piece)
	var p parts
	if n <= smallSize {
		s := &e.small
		p = parts{s.key[:], s.least[:], s.top[:], s.id[:], s.next[:], s.prev[:]}
	} else {
		if len(e.large.id) < n {
			e.large = newParts(max(n, windowSize+2*overlap))
		}
		p = e.large
	}
	blocks := eights(n)
	tops := eights(blocks)
	p = parts{p.key[:8*blocks], p.least[:8*tops], p.top[:8*eights(tops)], p.id[:n], p.next[:n], p.prev[:n]}
	p.merge(v, piece)
	return p.append(dst)
}

func newParts(n int) parts {
	blocks := eights(n)
	tops := eights(blocks)
	return parts{
		make([]uint64, 8*blocks), make([]uint64, 8*tops), make([]uint64, 8*eights(tops)),
		make([]uint32, n), make([]uint32, n), make([]uint32, n),
	}
}

// merge runs the merges of piece, as long as id, next and prev.
func (p *parts) merge(v *Vocabulary, piece []byte) {
	n := len(piece)
	for i := 0; i < n; i++ {
		p.id[i] = v.single(piece[i])
		p.next[i], p.prev[i] = uint32(i+1), uint32(i-1)
		p.key[i] = noPair
		if i+1 < n {
			if id, ok := v.pair(piece[i], piece[i+1]); ok {
				p.key[i] = uint64(id)<<32 | uint64(i)
			}
		}
	}
	p.fill()
	for {
		at := p.first()
		if at >= n {
			return
		}
		gone := int(p.next[at])
		if gone >= n {
			return // never, like the checks below: they spare a trap
		}
		after := int(p.next[gone])
		p.id[at] = uint32(p.key[at] >> 32)
		p.next[at] = uint32(after)
		p.key[gone] = noPair
		p.key[at] = noPair
		if after < n {
			p.prev[after] = uint32(at)
			p.key[at] = v.pairKey(piece, at, int(p.next[after]))
		}
		if before := int(p.prev[at]); at > 0 && before < at {
			p.key[before] = v.pairKey(piece, before, after)
			if before>>3 != at>>3 {
				p.refresh(before)
			}
		}
		p.refresh(at)
		if gone>>3 != at>>3 {
			p.refresh(gone)
		}
	}
}

// fill builds least and top from the keys.
func (p *parts) fill() {
	for i := len(p.id); i < len(p.key); i++ {
		p.key[i] = noPair
	}
	for i := range p.least {
		p.least[i] = least8(p.key, 8*i)
	}
	for i := range p.top {
		p.top[i] = least8(p.least, 8*i)
	}
}

// refresh makes least and top right again after key[i] has changed.
func (p *parts) refresh(i int) {
	b, c := i>>3, i>>6
	if b < len(p.least) && c < len(p.top) {
		p.least[b] = least8(p.key, b<<3)
		p.top[c] = least8(p.least, c<<3)
	}
}

// first is the place of the least key, beyond every place if there is none.
func (p *parts) first() int {
	least := noPair
	for i := 0; i < len(p.top); i += 8 {
		least = min(least, least8(p.top, i))
	}
	return int(uint32(least) &^ (1 << 31)) // an int has 32 bits in wasm
}

// least8 is the least of eight keys; noPair beyond the end.
func least8(keys []uint64, from int) uint64 {
	if from+8 > len(keys) {
		return noPair
	}
	k := keys[from : from+8 : from+8]
	return min(min(min(k[0], k[1]), min(k[2], k[3])), min(min(k[4], k[5]), min(k[6], k[7])))
}

// append appends the ids of the parts that are left.
func (p *parts) append(dst []uint32) []uint32 {
	for i := 0; i < len(p.id); i = int(p.next[i]) {
		dst = append(dst, p.id[i])
	}
	return dst
}

// pairKey is the key of the pair of parts that piece[from:to] consists of:
// three bytes or more.
func (v *Vocabulary) pairKey(piece []byte, from, to int) uint64 {
	if to > len(piece) || to-from > int(v.maxLen) || from > to {
		return noPair
	}
	if id, ok := v.find(piece[from:to]); ok {
		return uint64(id)<<32 | uint64(from)
	}
	return noPair
}
