package bpe

// windowSize is the number of bytes that are merged at once; longer pieces are cut (window.go).
const windowSize = 512

// parts is the state of merging one stretch of bytes. short is the same for a stretch of at most shortSize, written out
// for speed.
//
// A part is named by the position of its first byte. key[i] is the pair that begins with part i, as rank<<32 | i, so
// the least key is the leftmost pair of the lowest rank. It is none if the pair is not a token, or if no part begins at
// i. token[i] is the part's token, pair[i] the pair's. next[i] and prev[i] are the
// neighbouring parts.
//
// least[b] is the least of the eight keys from 8b, and top[c] is the least of the eight entries of least from 8c. So
// finding the next pair and changing a key take three steps of eight in a window, without the jumps of a heap. All
// three are filled with none up to a multiple of eight.
type parts struct {
	key, minOf8, minOf64 []uint64
	token, pair          []uint64
	next, prev           []uint32
}

// divideBy8 returns n/8, rounded up.
func divideBy8(n int) int { return (n + 7) >> 3 }

// mergeLong merges a stretch of any length at once.
func (e *Encoder) mergeLong(dst []uint32, v *Vocabulary, piece string) []uint32 {
	p := e.partsOf(len(piece))
	p.merge(v, piece)
	return p.append(dst)
}

// partsOf returns memory for merging n bytes.
func (e *Encoder) partsOf(n int) parts {
	if len(e.parts.next) < n {
		e.parts = newParts(max(n, windowSize+2*overlap))
	}
	p := e.parts
	blocks := divideBy8(n)
	p.key, p.token, p.pair, p.next, p.prev = p.key[:8*blocks], p.token[:n], p.pair[:n], p.next[:n], p.prev[:n]
	tops := divideBy8(blocks)
	p.minOf8, p.minOf64 = p.minOf8[:8*tops], p.minOf64[:8*divideBy8(tops)]
	return p
}

func newParts(n int) parts {
	blocks := divideBy8(n)
	tops := divideBy8(blocks)
	return parts{
		key: make([]uint64, 8*blocks), minOf8: make([]uint64, 8*tops), minOf64: make([]uint64, 8*divideBy8(tops)),
		token: make([]uint64, n), pair: make([]uint64, n),
		next: make([]uint32, n), prev: make([]uint32, n),
	}
}

// merge merges the pairs of piece until none is left.
func (p *parts) merge(v *Vocabulary, piece string) {
	p.start(v, piece)
	for {
		at := p.first()
		if at >= len(piece) || !p.join(v, piece, at) {
			return
		}
	}
}

// join merges the pair that begins with part at. It reports false if there is none.
func (p *parts) join(v *Vocabulary, piece string, at int) bool {
	n := len(piece)
	removed := int(p.next[at])
	if removed >= n {
		return false // never reached, like the checks below: they prevent a trap
	}
	after := int(p.next[removed])
	p.token[at] = p.pair[at]
	p.next[at] = uint32(after)
	p.key[removed] = noToken
	p.key[at] = noToken
	if after < n {
		p.prev[after] = uint32(at)
		p.lookUp(v, piece, at, after, int(p.next[after]))
	}
	before := int(p.prev[at])
	if at > 0 && before < at {
		p.lookUp(v, piece, before, at, after)
	}
	p.refresh(before, at, removed)
	return true
}

// start makes every byte a part.
func (p *parts) start(v *Vocabulary, piece string) {
	for i := len(piece); i < len(p.key); i++ {
		p.key[i] = noToken
	}
	for i := range len(piece) {
		b := piece[i]
		token := v.single(b)
		p.token[i], p.key[i] = token, noToken
		p.next[i], p.prev[i] = uint32(i+1), uint32(i-1)
		if i+1 < len(piece) {
			if pair := v.child(uint32(token), piece[i+1]); pair != noToken {
				p.key[i], p.pair[i] = pair>>rankShift<<rankShift|uint64(i), pair
			}
		}
	}
	for i := range p.minOf8 {
		p.minOf8[i] = min8(p.key, 8*i)
	}
	for i := range p.minOf64 {
		p.minOf64[i] = min8(p.minOf8, 8*i)
	}
}

// lookUp looks up the pair that begins with part at, whose second part begins at second and ends before end.
func (p *parts) lookUp(v *Vocabulary, piece string, at, second, end int) {
	p.key[at] = noToken
	if at < 0 || second <= at || end <= second || end > len(piece) {
		return
	}
	if pair := v.follow(uint32(p.token[at]), piece[at:end], uint(second-at)); pair != noToken {
		p.key[at], p.pair[at] = pair>>rankShift<<rankShift|uint64(at), pair
	}
}

// refresh updates least and top after the keys of three parts have changed. The three are mostly close together.
func (p *parts) refresh(before, at, removed int) {
	x, y, z := uint(before)>>3, uint(at)>>3, uint(removed)>>3
	p.updateMin8(y)
	if x != y {
		p.updateMin8(x)
	}
	if z != y {
		p.updateMin8(z)
	}
	x, y, z = x>>3, y>>3, z>>3
	p.updateMin64(y)
	if x != y {
		p.updateMin64(x)
	}
	if z != y {
		p.updateMin64(z)
	}
}

func (p *parts) updateMin8(b uint) {
	if b < uint(len(p.minOf8)) {
		p.minOf8[b] = min8(p.key, int(b<<3))
	}
}

func (p *parts) updateMin64(c uint) {
	if c < uint(len(p.minOf64)) {
		p.minOf64[c] = min8(p.minOf8, int(c<<3))
	}
}

// first returns the position of the least key, or a position beyond all others if there is none.
func (p *parts) first() int {
	lowest := noToken
	for i := 0; i < len(p.minOf64); i += 8 {
		lowest = min(lowest, min8(p.minOf64, i))
	}
	return int(uint32(lowest) &^ (1 << 31)) // an int has 32 bits in wasm
}

// min8 returns the least of eight keys, or none beyond the end.
func min8(keys []uint64, from int) uint64 {
	if from < 0 || from+8 > len(keys) {
		return noToken
	}
	k := keys[from : from+8 : from+8]
	return min(min(min(k[0], k[1]), min(k[2], k[3])), min(min(k[4], k[5]), min(k[6], k[7])))
}

// append appends the ids of the remaining parts.
func (p *parts) append(dst []uint32) []uint32 {
	for i := 0; i < len(p.next); i = int(p.next[i]) {
		dst = append(dst, uint32(p.token[i]>>rankShift))
	}
	return dst
}
