package bpe

// shortScratch merges a piece of at most shortMax bytes.
//
// A part is named by the place of its first byte. key[i] is the pair that
// begins with part i, as rank<<posBits | i, so that the least key is the
// leftmost pair of the lowest rank; noPair when it makes no token or i begins
// no part any more. next[i] and prev[i] are the neighbouring parts.
type shortScratch struct {
	key  [shortMax]uint32
	id   [shortMax]uint32
	next [shortMax]uint8
	prev [shortMax]uint8
}

const (
	posBits = 6
	posMask = 1<<posBits - 1
	noPair  = ^uint32(0)
)

// shortMax must fit the position bits of a key.
const _ = uint(posMask - shortMax)

// merge leaves the parts in s, chained from part 0, and returns their number.
func (s *shortScratch) merge(v *Vocabulary, piece []byte) int {
	n := len(piece)
	if n > shortMax {
		return 0 // not reached: callers cut first
	}
	for i := 0; i < n; i++ {
		s.id[i] = v.single(piece[i])
		s.next[i] = uint8(i + 1)
		s.prev[i] = uint8(i - 1)
		s.key[i] = noPair
		if i+1 < n {
			s.key[i] = pairKey(v, piece[i:i+2], i)
		}
	}
	parts := n
	for {
		least := noPair
		for _, k := range s.key[:n] {
			least = min(least, k)
		}
		if least == noPair {
			return parts
		}
		at := int(least & posMask)
		if at >= n { // never; spares the bound checks below
			return parts
		}
		gone := int(s.next[at])
		if gone >= n {
			return parts
		}
		after := int(s.next[gone])
		s.id[at] = least >> posBits
		s.next[at] = uint8(after)
		s.key[gone] = noPair
		s.key[at] = noPair
		if after < n {
			s.prev[after] = uint8(at)
			s.key[at] = pairKey(v, piece[at:s.end(after, n)], at)
		}
		if before := int(s.prev[at]); at > 0 && before < n {
			s.key[before] = pairKey(v, piece[before:after], before)
		}
		parts--
	}
}

// end is where part i ends.
func (s *shortScratch) end(i, n int) int { return min(int(s.next[i]), n) }

// append appends the ids of the n bytes merged last.
func (s *shortScratch) append(dst []uint32, n int) []uint32 {
	for i := 0; i < n && i < shortMax; i = int(s.next[i]) {
		dst = append(dst, s.id[i])
	}
	return dst
}

func pairKey(v *Vocabulary, pair []byte, at int) uint32 {
	if id, ok := v.joined(pair); ok {
		return id<<posBits | uint32(at)
	}
	return noPair
}
