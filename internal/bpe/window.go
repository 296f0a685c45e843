package bpe

import "math"

// overlap is how many bytes of the last window, at least, are merged again with the next one. Doubled when it proves
// too few.
const overlap = 64

// mergeWindows merges a piece longer than a window, window by window.
//
// Why that is exact: let every two adjacent tokens of a sequence be what merging the bytes of those two alone gives.
// Then the sequence is what merging all bytes gives. For suppose the real run crosses a border of it, and look at the
// first time: up to then nothing crossed this border or its neighbours, so the two tokens beside it went through the
// same steps as in the run on their bytes alone, which would cross it too.
//
// Inside one window all pairs hold. So a window is begun at a token border inside the one before, and accepted if the
// pair across that border holds; if not, the border is moved back. How far a byte can reach back is bounded by the
// vocabulary, so time stays linear.
//
// It stops and returns false when the piece certainly has more than most ids; see exceeds.
func (e *Encoder) mergeWindows(dst []uint32, v *Vocabulary, piece string, most int) ([]uint32, bool) {
	base := len(dst) // dst[base:] is this piece's
	done := 0        // bytes that dst[base:] stands for
	back, look := overlap, most
	if most < math.MaxInt-exceedsAfter {
		look += exceedsAfter
	}
	for end := windowSize; ; {
		e.ids = e.mergeStretch(e.ids[:0], v, piece[done:end])
		if len(dst) > base && !e.holds(v, piece, done, dst[len(dst)-1], e.ids) {
			back *= 2
			dst, done = dropTail(dst, v, base, done, back)
			continue
		}
		dst = append(dst, e.ids...)
		if end == len(piece) {
			return dst, true
		}
		if len(dst)-base > look {
			if e.exceeds(dst[base:], v, piece, end, most) {
				return dst, false
			}
			look *= 2
		}
		back = overlap
		dst, done = dropTail(dst, v, base, end, back)
		dst, done = repeat(dst, v, base, piece, done, look)
		end = min(max(end, done)+windowSize, len(piece))
	}
}

// repeat goes on with the last token as long as the piece does, up to a window before its end and to most ids: if the
// token before is the same, a pair of it holds, and so does any number. Long runs of spaces or dashes need no merging.
func repeat(dst []uint32, v *Vocabulary, base int, piece string, done, most int) ([]uint32, int) {
	last := len(dst) - 1
	if last <= base || dst[last] != dst[last-1] {
		return dst, done
	}
	id := dst[last]
	token, ok := v.Bytes(id)
	if !ok || len(token) == 0 {
		return dst, done
	}
	for len(dst)-base <= most && done+len(token)+windowSize <= len(piece) && piece[done:done+len(token)] == string(token) {
		dst = append(dst, id)
		done += len(token)
	}
	return dst, done
}

// holds reports whether the token left, which ends at border, and the first of the ids that follow are what their bytes
// alone give.
func (e *Encoder) holds(v *Vocabulary, piece string, border int, left uint32, ids []uint32) bool {
	if len(ids) == 0 {
		return false
	}
	l, ok1 := v.Bytes(left)
	r, ok2 := v.Bytes(ids[0])
	from, to := border-len(l), border+len(r)
	if !ok1 || !ok2 || from < 0 || to > len(piece) {
		return false
	}
	e.two = e.mergeStretch(e.two[:0], v, piece[from:to])
	return len(e.two) == 2 && e.two[0] == left && e.two[1] == ids[0]
}

// dropTail takes tokens off the end of dst until at least back bytes of the first done are gone, or all are; it returns
// what is left of both.
func dropTail(dst []uint32, v *Vocabulary, base, done, back int) ([]uint32, int) {
	for floor := done - back; len(dst) > base && done > floor; {
		last := len(dst) - 1
		b, _ := v.Bytes(dst[last])
		done -= len(b)
		dst = dst[:last]
	}
	if len(dst) == base {
		done = 0
	}
	return dst, max(done, 0)
}

// exceedsAfter is how many ids more than wanted there are before exceeds is asked, which is then mostly right at once.
const exceedsAfter = 256

// exceeds reports whether piece has more than most ids, whatever follows end: ids are those of piece[:end].
//
// The whole piece has a border within one token's length before end, and up to its border nearest to end it has the ids
// that these bytes alone give, since nothing merges over a border. So the least that any place there gives is the least
// that the whole piece has.
func (e *Encoder) exceeds(ids []uint32, v *Vocabulary, piece string, end, most int) bool {
	for to := end; to > 0 && to > end-int(v.maxLen); to-- {
		if e.countTo(ids, v, piece, end, to) <= most {
			return false
		}
	}
	return true
}

// countTo is the number of ids of piece[:to], at or before end, to which ids are those. It goes on from a border before
// to as mergeWindows does.
func (e *Encoder) countTo(ids []uint32, v *Vocabulary, piece string, end, to int) int {
	for back := overlap; ; back *= 2 {
		done, left := end, len(ids)
		for left > 0 && done > to-back {
			left--
			b, _ := v.Bytes(ids[left])
			done -= len(b)
		}
		if left == 0 {
			done = 0
		}
		if done < 0 || done > to {
			return 0 // never
		}
		e.ids = e.mergeStretch(e.ids[:0], v, piece[done:to])
		if left == 0 || e.holds(v, piece, done, ids[left-1], e.ids) {
			return left + len(e.ids)
		}
	}
}
