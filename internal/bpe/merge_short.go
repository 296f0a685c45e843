package bpe

// shortSize is the longest stretch, in bytes, whose pairs are all compared to find the least. Nearly all words are
// shorter.
const shortSize = 64

// short is the state of merging a short stretch; see [parts]. Its arrays have a fixed size and positions are taken
// modulo that size, so indexes need no bounds check.
type short struct {
	key, token, pair [shortSize]uint64
	next, prev       [shortSize]uint8
}

// merge appends the ids that remain after merging piece.
func (s *short) merge(dst []uint32, v *Vocabulary, piece string) []uint32 {
	n := uint8(min(len(piece), shortSize))
	s.start(v, piece)
	for {
		lowest := s.minKey(int(n))
		if lowest>>rankShift == noToken>>rankShift {
			break
		}
		at := uint8(lowest) % shortSize
		removed := s.next[at] % shortSize
		after := s.next[removed]
		s.token[at], s.next[at] = s.pair[at], after
		s.key[at], s.key[removed] = noToken, noToken
		if after < n {
			s.prev[after%shortSize] = at
			s.lookUp(v, piece, at, after, s.next[after%shortSize])
		}
		if at > 0 {
			s.lookUp(v, piece, s.prev[at]%shortSize, at, after)
		}
	}
	for i := uint8(0); i < n; i = s.next[i%shortSize] {
		dst = append(dst, uint32(s.token[i%shortSize]>>rankShift))
	}
	return dst
}

// minKey returns the least of the first n keys.
func (s *short) minKey(n int) uint64 {
	lowest := noToken
	for i := 0; i < n; i += 8 {
		lowest = min(lowest, min8(s.key[:], i))
	}
	return lowest
}

// start makes every byte a part.
func (s *short) start(v *Vocabulary, piece string) {
	for i := max(len(piece)-1, 0); i < min(len(piece)+7, shortSize); i++ {
		s.key[i] = noToken
	}
	last := uint64(0)
	for i := range len(piece) {
		b := piece[i]
		at := uint8(i) % shortSize
		if i > 0 {
			s.set(at-1, v.child(uint32(last), b))
		}
		last = v.single(b)
		s.token[at] = last
		s.next[at], s.prev[at] = at+1, at-1
	}
}

// lookUp looks up the pair that begins with part at, whose second part begins at second and ends before end.
func (s *short) lookUp(v *Vocabulary, piece string, at, second, end uint8) {
	if at >= second || second >= end || int(end) > len(piece) {
		return
	}
	pair, base := noToken, uint32(s.token[at%shortSize])
	if v.continues(base, piece[second]) { // mostly not, which saves a call
		pair = v.follow(base, piece[at:end], uint(second-at))
	}
	s.set(at, pair)
}

// set records the token that a pair makes. For a pair that is not a token, the high half of none is higher than every
// rank.
func (s *short) set(at uint8, pair uint64) {
	s.pair[at%shortSize] = pair
	s.key[at%shortSize] = pair>>rankShift<<rankShift | uint64(at)
}
