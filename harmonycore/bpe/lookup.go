package bpe

// Len is the number of ids; they run from 0 to Len()-1.
func (v *Vocabulary) Len() int { return int(v.count) }

// Lookup returns the id of the token whose bytes are exactly piece.
func (v *Vocabulary) Lookup(piece []byte) (id uint32, ok bool) {
	n := len(piece)
	if n == 0 || uint(n) > uint(v.maxLen) {
		return 0, false
	}
	if n <= 2 {
		at := uint32(singlesBase) + 4*uint32(piece[0])
		if n == 2 {
			at = pairsBase + 4*(uint32(piece[0])<<8|uint32(piece[1]))
		}
		id = u32(v.table, at)
		return id - 1, id != 0
	}
	return v.find(piece)
}

// find looks a piece of three or more bytes up in the slots.
func (v *Vocabulary) find(piece []byte) (id uint32, ok bool) {
	n := uint32(len(piece))
	key := word(piece)
	h := hash(piece, key)
	mark := fingerprint(h)
	for slot, left := home(h, v.slots), v.slots; left > 0; left-- {
		s := u32(v.table, v.slotAt+4*slot)
		if s == 0 {
			return 0, false
		}
		if s>>offsetBits == mark {
			at := s & (maxTable - 1)
			head := u32(v.table, at)
			if head>>24 == n && v.same(at+recordHead, piece, key) {
				return head & 0xffffff, true
			}
		}
		if slot++; slot == v.slots {
			slot = 0
		}
	}
	return 0, false // only a damaged table has no empty slot
}

// same reports whether the bytes at a place are piece. For up to eight bytes
// the word says it all: two pieces of one length with one word are equal.
func (v *Vocabulary) same(at uint32, piece []byte, key uint64) bool {
	end := uint64(at) + uint64(len(piece))
	if end > uint64(len(v.table)) {
		return false
	}
	stored := v.table[at:end]
	if len(piece) <= 8 {
		return word(stored) == key
	}
	return string(stored) == string(piece)
}

// Bytes returns the bytes of a token as a view of the table, not to be
// written to; ok is false for an id the vocabulary does not have.
func (v *Vocabulary) Bytes(id uint32) (b []byte, ok bool) {
	if id >= v.count {
		return nil, false
	}
	at := u32(v.table, v.index+id/indexStep*4)
	for skip := id % indexStep; skip > 0; skip-- {
		at += recordHead + u32(v.table, at)>>24
	}
	head := u32(v.table, at)
	at += recordHead
	end := uint64(at) + uint64(head>>24)
	if head&0xffffff != id || end > uint64(v.end) {
		return nil, false
	}
	return v.table[at:end:end], true
}

// word packs the first bytes of a piece: all of them up to eight. The reads
// overlap, so there is no loop and no byte is left out.
func word(p []byte) uint64 {
	switch n := len(p); {
	case n >= 8:
		return load64(p)
	case n >= 4:
		return uint64(load32(p)) | uint64(load32(p[n-4:]))<<32
	case n > 0:
		return uint64(p[0]) | uint64(p[n/2])<<8 | uint64(p[n-1])<<16
	}
	return 0
}

const hashMul = 0x9e3779b97f4a7c15

// hash mixes a piece, given its word. Only the low half of each product is
// used: wasm has no 64×64→128 multiplication.
func hash(p []byte, key uint64) uint64 {
	h := key + uint64(len(p))*0xd6e8feb86659fd93
	if len(p) > 8 {
		rest := p[8:]
		for len(rest) >= 8 {
			h = mix(h) + load64(rest)
			rest = rest[8:]
		}
		h = mix(h) + load64(p[len(p)-8:])
	}
	return mix(h)
}

// mix folds the high half down on both sides of the product, so that the home
// slot (high bits) and the fingerprint (low bits) see every input bit.
func mix(h uint64) uint64 {
	h ^= h >> 32
	h *= hashMul
	return h ^ h>>32
}

// home maps the high half of a hash to 0 … slots-1 without a division.
func home(h uint64, slots uint32) uint32 {
	return uint32((h >> 32) * uint64(slots) >> 32)
}

func fingerprint(h uint64) uint32 { return uint32(h) & (1<<(32-offsetBits) - 1) }
