package bpe

// fewestUnit stands for one token in the sums of [Fewest].
const fewestUnit = 1 << 20

// Fewest is a lower bound of the number of ids of a text, by its bytes alone. [Build] computes it from all tokens.
//
// Every byte counts as its share of the longest token that contains it. If the longest token with a digit has 3 bytes,
// a digit counts as a third of an id. The bytes of one token count as one id at most, so a text has at least as many
// ids as its bytes count.
type Fewest [256]uint32

// NewFewest returns the bounds for the tokens of v, which are in its table.
func NewFewest(v *Vocabulary) *Fewest {
	f := new(Fewest)
	for b := range f {
		f[b] = v.load32(atFewest + 4*uint32(b))
	}
	return f
}

// fewest computes the bounds for all tokens.
func (b *builder) fewest() *Fewest {
	var f Fewest
	for i := range f {
		f[i] = fewestUnit
	}
	for id := range b.ends {
		f.Add(b.token(uint32(id)))
	}
	return &f
}

// Add adjusts the bounds for one more token than the vocabulary has.
func (f *Fewest) Add(token []byte) {
	if len(token) == 0 {
		return
	}
	for _, b := range token {
		f[b] = min(f[b], fewestUnit/uint32(len(token)))
	}
}

// Exceeds reports whether text certainly has more than maxIDs ids. It reads no more of the text than it must.
func (f *Fewest) Exceeds(text string, maxIDs int) bool {
	if len(text) <= maxIDs {
		return false
	}
	const stretch = 2 << 10 // the sum of a stretch fits 32 bits
	limit, sum := uint64(max(maxIDs, 0))*fewestUnit, uint64(0)
	for len(text) > 0 {
		n := min(len(text), stretch)
		part := uint32(0)
		for i := range n {
			part += f[text[i]]
		}
		if sum += uint64(part); sum > limit {
			return true
		}
		text = text[n:]
	}
	return false
}
