package bpe

// Len is the number of ids; they run from 0 to Len()-1.
func (v *Vocabulary) Len() int { return int(v.count) }

// Lookup returns the id of the token whose bytes are exactly piece. It may read,
// and ignores, up to seven bytes beyond piece within its capacity; nobody may
// be writing to these.
func (v *Vocabulary) Lookup(piece []byte) (id uint32, ok bool) {
	switch n := len(piece); {
	case uint(n) > uint(v.maxLen):
		return 0, false
	case n > 2:
		return v.find(piece)
	case n == 2:
		return v.pair(piece[0], piece[1])
	case n == 1:
		return v.single(piece[0]), true
	}
	return 0, false
}

// single is the id of a one-byte token.
func (v *Vocabulary) single(b byte) uint32 {
	return u32(v.table, singlesBase+4*uint32(b)) - 1
}

// pair is Lookup for two bytes.
func (v *Vocabulary) pair(a, b byte) (id uint32, ok bool) {
	id = u32(v.table, pairsBase+4*(uint32(a)<<8|uint32(b)))
	return id - 1, id != 0
}

// find is Lookup for three or more bytes.
func (v *Vocabulary) find(piece []byte) (id uint32, ok bool) {
	key := word(piece)
	h := hash(piece, key)
	filter := filterOf(h)
	if b := u64(v.table, hotBase+8*uint32(h>>(64-hotBits))); b&filter == filter {
		if id, ok = v.search(b, h, piece, key); ok {
			return id, true
		}
	}
	if b := u64(v.table, coldBase+8*uint32(h>>(64-coldBits))); b&filter == filter {
		return v.search(b, h, piece, key)
	}
	return 0, false
}

// search goes through the records of a bucket.
func (v *Vocabulary) search(bucket, h uint64, piece []byte, key uint64) (id uint32, ok bool) {
	n := uint32(len(piece))
	mask := wordMask(len(piece))
	want := n<<24 | markOf(h)<<markShift
	for at := uint32(bucket) & (maxTable - 1); ; {
		// Every place is checked against the table: it may be damaged. at
		// grows, so this ends. The padding is why eight bytes can be read.
		bytes := uint64(at) + recordHead
		if bytes+uint64(max(n, 8)) > uint64(len(v.table)) {
			return 0, false
		}
		head := load32(v.table[at:])
		if head&(0xff<<24|markMask<<markShift) == want && load64(v.table[bytes:])&mask == key &&
			(n <= 8 || string(v.table[bytes+8:bytes+uint64(n)]) == string(piece[8:])) {
			return head & (maxCount - 1), true
		}
		if head&lastFlag != 0 {
			return 0, false
		}
		at += recordHead + head>>24
	}
}

// Bytes returns the bytes of a token as a view of the table, not to be
// written to; ok is false for an id the vocabulary does not have.
func (v *Vocabulary) Bytes(id uint32) (b []byte, ok bool) {
	if id >= v.count {
		return nil, false
	}
	at := u32(v.table, indexBase+4*id)
	head := u32(v.table, at)
	from := uint64(at) + recordHead
	to := from + uint64(head>>24)
	if head&(maxCount-1) != id || to > uint64(v.end) {
		return nil, false
	}
	return v.table[from:to:to], true
}

// word is the first eight bytes of a piece, or all of them and zeros. It reads
// all eight at once where the piece's capacity allows, so the length, which
// nobody can predict, decides no jump.
func word(p []byte) uint64 {
	if cap(p) >= 8 {
		return load64(p[:8]) & wordMask(len(p))
	}
	w := uint64(0)
	for i, b := range p {
		w |= uint64(b) << (8 * i)
	}
	return w
}

// wordMask covers the bytes that a piece of n bytes has in its word.
func wordMask(n int) uint64 { return ^uint64(0) >> (64 - 8*uint(min(n, 8))) }

const hashMul = 0x9e3779b97f4a7c15

// hash mixes a piece, given its word. Only the low half of each product is
// used: wasm has no 64×64→128 multiplication.
func hash(p []byte, key uint64) uint64 {
	h := key + uint64(len(p))*0xd6e8feb86659fd93
	if len(p) > 8 {
		rest := p[8:]
		for len(rest) > 8 {
			h = mix(h) + load64(rest)
			rest = rest[8:]
		}
		h = mix(h) + load64(p[len(p)-8:])
	}
	return mix(h)
}

// mix folds the high half down on both sides of the product, so that the
// bucket (high bits) and the filter (low bits) see every input bit.
func mix(h uint64) uint64 {
	h ^= h >> 32
	h *= hashMul
	return h ^ h>>32
}

// filterOf is the two bits of a bucket's filter that stand for a hash.
func filterOf(h uint64) uint64 {
	a := (h & 0xffff) * filterBits >> 16
	b := (h >> 16 & 0xffff) * filterBits >> 16
	return 1<<(placeBits+a) | 1<<(placeBits+b)
}

func markOf(h uint64) uint32 { return uint32(h>>32) & markMask }
