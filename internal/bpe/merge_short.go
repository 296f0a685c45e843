package bpe

// shortSize is the longest stretch, in bytes, whose pairs are all compared to find the least. Nearly all words are
// shorter.
const shortSize = 64

// short is the state of merging a short stretch; see [parts]. Its arrays have a fixed size and positions are taken
// modulo that size, so indexes need no bounds check.
type short struct {
	key, cell, pair [shortSize]uint64
	next, prev      [shortSize]uint8
}

// merge appends the ids that remain after merging piece.
func (s *short) merge(dst []uint32, v *Vocabulary, piece string) []uint32 {
	n := uint8(min(len(piece), shortSize))
	s.start(v, piece)
	for {
		lowest := s.minKey(int(n))
		if lowest>>idShift == noCell>>idShift {
			break
		}
		at := uint8(lowest) % shortSize
		removed := s.next[at] % shortSize
		after := s.next[removed]
		s.cell[at], s.next[at] = s.pair[at], after
		s.key[at], s.key[removed] = noCell, noCell
		if after < n {
			s.prev[after%shortSize] = at
			s.lookUp(v, piece, at, after, s.next[after%shortSize])
		}
		if at > 0 {
			s.lookUp(v, piece, s.prev[at]%shortSize, at, after)
		}
	}
	for i := uint8(0); i < n; i = s.next[i%shortSize] {
		dst = append(dst, uint32(s.cell[i%shortSize]>>idShift))
	}
	return dst
}

// minKey returns the least of the first n keys.
func (s *short) minKey(n int) uint64 {
	lowest := noCell
	for i := 0; i < n; i += 8 {
		lowest = min(lowest, min8(s.key[:], i))
	}
	return lowest
}

// start makes every byte a part.
func (s *short) start(v *Vocabulary, piece string) {
	for i := max(len(piece)-1, 0); i < min(len(piece)+7, shortSize); i++ {
		s.key[i] = noCell
	}
	last := uint64(0)
	for i := range len(piece) {
		b := piece[i]
		at := uint8(i) % shortSize
		if i > 0 {
			pair := v.child(last, b)
			if pair&wholeFlag == 0 {
				pair = noCell
			}
			s.set(at-1, pair)
		}
		last = v.cellAt(v.root + uint32(b))
		s.cell[at] = last
		s.next[at], s.prev[at] = at+1, at-1
	}
}

// lookUp looks up the pair that begins with part at, whose second part begins at second and ends before end.
func (s *short) lookUp(v *Vocabulary, piece string, at, second, end uint8) {
	if second < end && int(end) <= len(piece) {
		s.set(at, v.follow(uint32(s.cell[at%shortSize])>>baseShift, piece[second:end]))
	}
}

// set records the token that a pair makes. For a pair that is not a token, the high half of none is higher than every
// rank.
func (s *short) set(at uint8, pair uint64) {
	s.pair[at%shortSize] = pair
	s.key[at%shortSize] = pair>>idShift<<idShift | uint64(at)
}
