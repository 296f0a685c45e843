package bpe

// fewestUnit is what one token counts in Fewest's sums.
const fewestUnit = 1 << 20

// Fewest bounds from below how many ids any text has, by its bytes alone. It is made by NewFewest, which walks all
// tokens once.
//
// Every byte counts for as much as one of the longest token that it occurs in: a digit, for which that has 3 bytes, for
// a third of an id. The bytes of one token count for one id at most, so that a text has at least as many ids as its
// bytes count for.
type Fewest [256]uint32

// NewFewest returns the bounds that v gives.
func NewFewest(v *Vocabulary) *Fewest {
	var longest [256]int
	for id := range v.count {
		token, _ := v.Bytes(id)
		for _, b := range token {
			longest[b] = max(longest[b], len(token))
		}
	}
	f := new(Fewest)
	for b, n := range longest {
		f[b] = fewestUnit / uint32(max(n, 1))
	}
	return f
}

// Add makes room for one more token than the vocabulary has.
func (f *Fewest) Add(token []byte) {
	if len(token) == 0 {
		return
	}
	for _, b := range token {
		f[b] = min(f[b], fewestUnit/uint32(len(token)))
	}
}

// Exceeds reports whether text certainly has more than most ids. It reads no more of it than it must.
func (f *Fewest) Exceeds(text string, most int) bool {
	if len(text) <= most {
		return false
	}
	const stretch = 2 << 10 // its sum fits 32 bits
	limit, sum := uint64(max(most, 0))*fewestUnit, uint64(0)
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
