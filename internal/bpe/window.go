package bpe

import "math"

// overlap is how many bytes of the last window, at least, are merged again with the next one. It is doubled if that is
// too few.
const overlap = 64

// mergeWindows merges a piece longer than a window, window by window.
//
// The result is exact. Let every two adjacent tokens of a sequence be what merging the bytes of those two alone gives.
// Then the sequence is what merging all bytes gives. For suppose that the real run merges across a border of the
// sequence, and look at the first time that it does. Until then nothing has crossed this border or its neighbours, so
// the two tokens beside it went through the same steps as in the run on their bytes alone. That run would then cross
// the border too.
//
// Inside one window all pairs hold. So a window begins at a token border inside the window before, and it is accepted
// if the pair across that border holds. Otherwise the border is moved back. The vocabulary limits how far a byte can
// reach back, so the time stays linear.
//
// mergeWindows stops and returns false if the piece certainly has more than limit ids; see [Encoder.exceeds].
func (e *Encoder) mergeWindows(dst []uint32, v *Vocabulary, piece string, limit int) ([]uint32, bool) {
	base := len(dst) // dst[base:] belongs to this piece
	done := 0        // number of bytes that dst[base:] stands for
	look := limit
	if limit < math.MaxInt-exceedsAfter {
		look += exceedsAfter
	}
	for end := 0; ; {
		dst, done = e.leap(dst, v, base, piece, done, look)
		if leapt := done; leapt > end {
			if end = leapt; end == len(piece) {
				return dst, true
			}
			if len(dst)-base > look {
				if e.exceeds(dst[base:], v, piece, end, limit) {
					return dst, false
				}
				look *= 2
				continue
			}
			dst, done = dropTail(dst, v, base, end, overlap)
		}
		end = min(end+windowSize, len(piece))
		dst, done = e.mergeWindow(dst, v, base, piece, done, end)
		if done == len(piece) {
			return dst, true
		}
		if len(dst)-base > look {
			if e.exceeds(dst[base:], v, piece, end, limit) {
				return dst, false
			}
			look *= 2
		}
		dst, done = dropTail(dst, v, base, end, overlap)
		dst, done = repeat(dst, v, base, piece, done, look)
		end = max(end, done)
	}
}

// mergeWindow merges piece[done:end], where dst[base:] stands for piece[:done], and as much of what is before as it
// must.
func (e *Encoder) mergeWindow(dst []uint32, v *Vocabulary, base int, piece string, done, end int) ([]uint32, int) {
	if e.leaper != nil {
		e.leaper.earn(end - done)
	}
	for back := overlap; ; {
		e.ids = e.mergeStretch(e.ids[:0], v, piece[done:end])
		if len(dst) == base || e.isExact(v, piece, done, dst[len(dst)-1], e.ids) {
			return append(dst, e.ids...), end
		}
		back *= 2
		dst, done = dropTail(dst, v, base, done, back)
	}
}

// repeat appends the last token for as long as the piece repeats it, until a window before the end and at most to limit
// ids. If the token before is the same, a pair of it holds, and so does any number. Long runs of spaces or dashes need
// no merging.
func repeat(dst []uint32, v *Vocabulary, base int, piece string, done, limit int) ([]uint32, int) {
	last := len(dst) - 1
	if last <= base || dst[last] != dst[last-1] {
		return dst, done
	}
	id := dst[last]
	token, ok := v.Bytes(id)
	if !ok || len(token) == 0 {
		return dst, done
	}
	for len(dst)-base <= limit && done+len(token)+windowSize <= len(piece) &&
		piece[done:done+len(token)] == asText(token) {
		dst = append(dst, id)
		done += len(token)
	}
	return dst, done
}

// isExact reports whether the token left, which ends at border, and the first of the ids that follow are what their
// bytes alone give.
func (e *Encoder) isExact(v *Vocabulary, piece string, border int, left uint32, ids []uint32) bool {
	if len(ids) == 0 {
		return false
	}
	l, ok1 := v.Bytes(left)
	r, ok2 := v.Bytes(ids[0])
	from, to := border-len(l), border+len(r)
	if !ok1 || !ok2 || from < 0 || to > len(piece) {
		return false
	}
	e.pairIDs = e.mergeStretch(e.pairIDs[:0], v, piece[from:to])
	return len(e.pairIDs) == 2 && e.pairIDs[0] == left && e.pairIDs[1] == ids[0]
}

// dropTail removes tokens from the end of dst until at least back bytes of the first done are gone, or all are. It
// returns the rest of both.
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

// exceedsAfter is how many ids beyond the limit must exist before exceeds is called, which then mostly succeeds at
// once.
const exceedsAfter = 256

// exceeds reports whether piece has more than limit ids, whatever follows end. ids are the ids of piece[:end].
//
// The whole piece has a border within one token's length before end. Up to its border nearest to end it has the ids
// that these bytes alone give, because nothing merges over a border. So the smallest count that any position there
// gives is a lower bound for the whole piece.
func (e *Encoder) exceeds(ids []uint32, v *Vocabulary, piece string, end, limit int) bool {
	for to := end; to > 0 && to > end-int(v.maxLen); to-- {
		if e.countTo(ids, v, piece, end, to) <= limit {
			return false
		}
	}
	return true
}

// countTo returns the number of ids of piece[:to]; to is at or before end, and ids are the ids of piece[:end]. Like
// mergeWindows it continues from a border before to.
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
			return 0 // never reached
		}
		e.ids = e.mergeStretch(e.ids[:0], v, piece[done:to])
		if left == 0 || e.isExact(v, piece, done, ids[left-1], e.ids) {
			return left + len(e.ids)
		}
	}
}
