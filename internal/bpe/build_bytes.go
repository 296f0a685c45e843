package bpe

import "bytes"

// part says where a token's bytes are: in the token whole, from the byte at on.
type part struct{ whole, at uint32 }

// pack returns the bytes of the tokens that are not part of a longer one, in sorted order so that they compress well,
// and where the bytes of each token begin there.
func (b *builder) pack() (blob []byte, begins []uint32) {
	parts := b.parts()
	begins = make([]uint32, len(parts))
	for _, id := range b.sorted {
		if parts[id].whole != id {
			continue
		}
		token := b.token(id)
		if len(token) >= longToken {
			blob = append(blob, byte(len(token)))
		}
		begins[id] = uint32(len(blob))
		blob = append(blob, token...)
	}
	for id, p := range parts {
		begins[id] = begins[p.whole] + p.at
	}
	return blob, begins
}

// parts finds a longest token of which each token is a part. The longest of all and the long ones are parts of
// themselves.
func (b *builder) parts() []part {
	parts := make([]part, len(b.ends))
	found := make([]bool, len(b.ends))
	for _, whole := range b.longestFirst() {
		if found[whole] {
			continue
		}
		text := b.token(whole)
		for at := range text {
			b.prefixes(text[at:], func(id uint32) {
				if !found[id] && (id == whole || len(b.token(id)) < longToken) {
					found[id], parts[id] = true, part{whole, uint32(at)}
				}
			})
		}
	}
	return parts
}

// prefixes calls found with every token that text begins with.
func (b *builder) prefixes(text []byte, found func(id uint32)) {
	base := b.root
	for _, c := range text {
		at := base + uint32(c)
		cell := b.array.cells[at]
		if cell>>labelShift != uint32(c) {
			return
		}
		id := cell>>idShift&idMask<<16 | uint32(b.array.ids[at])
		if cell&wholeFlag != 0 || cell&tailFlag != 0 && bytes.HasPrefix(text, b.token(id)) {
			found(id)
		}
		base = cell & baseMask
	}
}

// longestFirst returns all ids, of longer tokens first.
func (b *builder) longestFirst() []uint32 {
	var heads [maxToken + 2]uint32 // by how much shorter than maxToken
	for id := range b.ends {
		heads[maxToken-len(b.token(uint32(id)))+1]++
	}
	for i := 1; i < len(heads); i++ {
		heads[i] += heads[i-1]
	}
	ids := make([]uint32, len(b.ends))
	for id := range b.ends {
		head := &heads[maxToken-len(b.token(uint32(id)))]
		ids[*head] = uint32(id)
		*head++
	}
	return ids
}
