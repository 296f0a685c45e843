package bpe

// Leaping finds the ids of a piece token by token, from left to right. Merging takes time for each byte, leaping for
// each token. So leaping is for text with long tokens, such as runs of spaces and dashes: a request has room for so
// much of it that merging would hold a worker for too long.
//
// Leaping relies on what mergeWindows shows: a sequence of tokens is what merging gives if each two neighbours are what
// merging their bytes alone gives (they hold). So each beginning of a piece has one such sequence. Where no next token
// holds, the piece has no border, and the token before is replaced by a shorter one.
const (
	// leapMin is the length of the shortest piece that leaping is tried on, in bytes. Its first two tokens must have at
	// least leapFirst bytes together.
	leapMin   = 24
	leapFirst = 16
	// The cost of a border, and of finding out whether two tokens hold, where it costs 1 to remember it. Each
	// byte of a long piece pays 1, and maxCredit is saved. So leaping in vain takes less time than merging does.
	newBorder = 4
	newPair   = 16
	maxCredit = 1 << 16
	// deadSpan is how many bytes the dead borders are remembered of.
	deadSpan = 4096

	// settled is after how many more tokens a choice is remembered.
	settled = 32

	pairBits   = 15
	choiceBits = 14
)

// leaper is the memory of leaping, 720 KB.
type leaper struct {
	credit int
	// splits has the length of each token's left half, in bytes: what the last merge of its bytes joins. 0 is not known
	// yet, and noSplit means that the token cannot be used here.
	splits []uint8
	// pairs are pairs of tokens, each at the place of its hash: left<<32 | right<<1 | whether they hold.
	pairs [1 << pairBits]uint64
	// choices are tokens that were chosen, each at the place of its key's hash. open has the keys of the choices that may
	// still turn out wrong. The token at dst[i] has the place i modulo their number.
	choices [1 << choiceBits]choice
	open    [2 * settled]uint64
	// dead are the places after origin at which the piece has no border.
	dead   [deadSpan / 64]uint64
	origin int
	// ids and sizes are the tokens with which the text at a border begins, the shortest first.
	ids   [maxToken]uint32
	sizes [maxToken]uint8
}

const noSplit = 0xff

// choice is a token that was chosen. It is a hint for other runs of the same length.
type choice struct {
	key uint64
	id  uint32
}

// leap appends ids of piece[done:] while it can, and at most until there are more than limit. It returns dst
// and the number of bytes that dst[base:] stands for then. All neighbours hold, as they must in dst before. The rest
// is to be merged.
func (e *Encoder) leap(dst []uint32, v *Vocabulary, base int, piece string, done, limit int) ([]uint32, int) {
	if len(piece)-done < leapMin || !beginsLong(v, piece[done:]) {
		return dst, done
	}
	if e.leaper == nil {
		e.leaper = &leaper{splits: make([]uint8, v.Len()), credit: maxCredit}
	}
	l := e.leaper
	l.origin, l.dead = done, [deadSpan / 64]uint64{}
	floor, open := len(dst), len(dst)
	for done < len(piece) && len(dst)-base <= limit {
		if done-l.origin > deadSpan-2*maxToken {
			floor = base + l.shift(v, dst[base:], done)
		}
		l.credit -= newBorder
		key := contextOf(v, piece[done:], dst[base:])
		id, size := e.next(v, piece, done, dst[base:], l.hint(key))
		if l.credit <= 0 {
			return dst, done
		}
		if size > 0 {
			l.open[len(dst)%len(l.open)] = key
			dst, done = append(dst, id), done+size
			l.earn(size)
			if open < len(dst)-settled {
				l.settle(open, dst[open])
				open++
			}
			continue
		}
		l.kill(done)
		if len(dst) <= floor {
			return dst, done
		}
		done -= v.size(dst[len(dst)-1])
		dst = dst[:len(dst)-1]
		open = min(open, len(dst))
	}
	for ; open < len(dst) && done == len(piece); open++ {
		l.settle(open, dst[open])
	}
	return dst, done
}

// contextOf returns what a choice may depend on: the part that matters of the run with which the text begins, the byte
// after it, and the token before if it is of the same run.
func contextOf(v *Vocabulary, text string, before []uint32) uint64 {
	period, run := runOf(text)
	unit, last, after := uint64(0), uint64(maxCount), uint64(0)
	for i := range period {
		unit = unit<<8 | uint64(text[i])
	}
	if len(before) > 0 {
		token, _ := v.Bytes(before[len(before)-1])
		if n := len(token); n >= period && asText(token[n-period:]) == text[:period] {
			last = uint64(before[len(before)-1])
		}
	}
	if run < len(text) {
		after = uint64(text[run])
	}
	return 1<<63 | last<<41 | uint64(run)<<32 | after<<24 | unit
}

// longRun is how many bytes of a run are counted.
const longRun = 300

// runOf returns how many bytes at the beginning of a text repeat its first one, two or three bytes, and how many these
// are. A text of other bytes is a run of its first.
func runOf(text string) (period, run int) {
	for period = 1; period <= 3; period++ {
		run = min(period, len(text))
		for run+8 <= len(text) && run < longRun && load64(text, run) == load64(text, run-period) {
			run += 8
		}
		for run < len(text) && run < longRun && text[run] == text[run-period] {
			run++
		}
		if run >= 3*period {
			return period, min(run, longRun)
		}
	}
	return min(1, len(text)), min(1, len(text))
}

// hint returns the token that was chosen in a context, or an id that no token has.
func (l *leaper) hint(key uint64) uint32 {
	if c := &l.choices[key*mixer>>(64-choiceBits)]; c.key == key {
		return c.id
	}
	return maxCount
}

// settle remembers the choice of the token at dst[i].
func (l *leaper) settle(i int, id uint32) {
	key := l.open[i%len(l.open)]
	l.choices[key*mixer>>(64-choiceBits)] = choice{key, id}
}

// beginsLong reports whether the first two tokens of a text are long, if each is the longest possible.
func beginsLong(v *Vocabulary, text string) bool {
	_, first := v.longest(text)
	_, second := v.longest(text[first:])
	return first+second >= leapFirst
}

func (l *leaper) earn(bytes int) { l.credit = min(l.credit+bytes, maxCredit) }

// same reports whether two texts of one length are equal. TinyGo would compare byte by byte.
func same(a, b string) bool {
	i := 0
	for ; i+8 <= len(a) && i+8 <= len(b); i += 8 {
		if load64(a, i) != load64(b, i) {
			return false
		}
	}
	return a[i:] == b[i:]
}

// next returns a token for piece[done:] that holds after the last of before, and its size. It returns size 0 if there
// is none, or no credit. hint is tried first.
func (e *Encoder) next(v *Vocabulary, piece string, done int, before []uint32, hint uint32) (id uint32, size int) {
	l := e.leaper
	size = v.size(hint)
	if hint != maxCount && done+size <= len(piece) {
		token, _ := v.Bytes(hint)
		if same(asText(token), piece[done:done+size]) && e.fits(v, piece, done, before, hint, size) {
			return hint, size
		}
	}
	found := v.prefixes(piece[done:], &l.ids, &l.sizes)
	first := e.steady(v, piece, done, found)
	for k := found; k >= 0; k-- {
		at := k
		if k == found {
			at = first
		} else if k == first {
			continue
		}
		id, size = l.ids[at%maxToken], int(l.sizes[at%maxToken])
		if at < found && e.fits(v, piece, done, before, id, size) {
			return id, size
		}
	}
	return 0, 0
}

// steady returns which of the tokens that were found at done is likely. In a run it is the longest one that the run
// repeats and that holds beside itself: the longer ones come only at its end. Elsewhere it is the longest.
func (e *Encoder) steady(v *Vocabulary, piece string, done, found int) int {
	l := e.leaper
	for k := found - 1; k >= 0 && l.sizes[k] >= leapFirst; k-- {
		id, n := l.ids[k], int(l.sizes[k])
		end := done + 2*n
		if end <= len(piece) && same(piece[done:done+n], piece[done+n:end]) && e.holds(v, piece, done+n, id, id) {
			return k
		}
	}
	return found - 1
}

// shift forgets the first half of the dead borders. It returns how many of the ids, which end at done, end at or before
// the new origin.
func (l *leaper) shift(v *Vocabulary, ids []uint32, done int) int {
	const half = len(l.dead) / 2
	l.origin += 64 * half
	copy(l.dead[:half], l.dead[half:])
	clear(l.dead[half:])
	n := len(ids)
	for ; n > 0 && done > l.origin; n-- {
		done -= v.size(ids[n-1])
	}
	return n
}

func (l *leaper) kill(border int) {
	if at := uint(border - l.origin); at < deadSpan {
		l.dead[at/64] |= 1 << (at % 64)
	}
}

func (l *leaper) isDead(border int) bool {
	at := uint(border - l.origin)
	return at < deadSpan && l.dead[at/64]>>(at%64)&1 != 0
}

// fits reports whether a token of this size may come next.
func (e *Encoder) fits(v *Vocabulary, piece string, done int, before []uint32, id uint32, size int) bool {
	if size == 0 || e.leaper.isDead(done+size) {
		return false
	}
	if len(before) > 0 {
		return e.holds(v, piece, done, before[len(before)-1], id)
	}
	if size > 1 && e.split(v, id) == noSplit {
		e.leaper.credit = 0
		return false
	}
	return true
}

// holds reports whether the token left, which ends at border, and the token right after it are what merging their bytes
// alone gives. It reports false without credit, and takes all of it if a token cannot be used.
func (e *Encoder) holds(v *Vocabulary, piece string, border int, left, right uint32) bool {
	l := e.leaper
	if l.credit--; l.credit <= 0 {
		return false
	}
	pair := uint64(left)<<32 | uint64(right)<<1
	place := &l.pairs[(pair+1)*mixer>>(64-pairBits)]
	if *place>>1 == pair>>1 && pair != 0 {
		return *place&1 != 0
	}
	l.credit -= newPair
	holds, known := e.findHolds(v, piece, border, left, right)
	if !known {
		l.credit = 0
		return false
	}
	if *place = pair; holds {
		*place |= 1
	}
	return holds
}

// findHolds is holds without its memory; known is false if a token cannot be used. It follows the merges of both tokens
// back in time. The inside of a token merges as if it were alone, so only the parts at the border matter. Each exists
// from its own merge until the merge of the next larger part. Merges come in the order of their ids, since
// [Encoder.split] refuses tokens for which they do not. Of equal ids the leftmost comes first.
func (e *Encoder) findHolds(v *Vocabulary, piece string, border int, left, right uint32) (holds, known bool) {
	l, r := v.size(left), v.size(right)
	leftEnd, rightEnd := noToken, noToken // when the parts are merged into larger ones
	for {
		if l < 1 || r < 1 || border < l || len(piece)-border < r {
			return false, false // never reached
		}
		both := piece[border-l : border+r]
		joined := v.follow(uint32(v.follow(v.root, both[:l], 0)), both, uint(l))
		if id := joined >> rankShift; joined != noToken && id < leftEnd && id <= rightEnd {
			return false, true
		}
		switch {
		case l == 1 && r == 1:
			return true, true
		case r == 1 || l > 1 && left > right:
			half := e.split(v, left)
			if half == noSplit {
				return false, false
			}
			leftEnd, l = uint64(left), l-half
			left, _ = v.Lookup(piece[border-max(l, 0) : border])
		default:
			half := e.split(v, right)
			if half == noSplit {
				return false, false
			}
			rightEnd, r = uint64(right), half
			right, _ = v.Lookup(piece[border : border+r])
		}
	}
}

// split returns the length of a token's left half, or noSplit if merging its bytes does not give the token, or not in
// the order of ids.
func (e *Encoder) split(v *Vocabulary, id uint32) int {
	splits := e.leaper.splits
	if int(id) >= len(splits) {
		return noSplit
	}
	if splits[id] == 0 {
		token, _ := v.Bytes(id)
		splits[id] = uint8(e.lastMerge(v, asText(token), id))
	}
	return int(splits[id])
}

// lastMerge returns where the last merge of a token's bytes joins its halves, or noSplit.
func (e *Encoder) lastMerge(v *Vocabulary, token string, id uint32) int {
	p := e.partsOf(len(token))
	p.start(v, token)
	half, last := noSplit, uint64(0)
	for {
		at := p.first()
		if at >= len(token) {
			break
		}
		merged := p.pair[at] >> rankShift
		if merged < last {
			return noSplit
		}
		last, half = merged, int(p.next[at])
		if !p.join(v, token, at) {
			return noSplit
		}
	}
	if len(token) < 2 || int(p.next[0]) != len(token) || p.token[0]>>rankShift != uint64(id) {
		return noSplit
	}
	return half
}
