package repetition

// Limits say what a repetition is: the newest tokens are MinCount or more copies of one pattern of at most
// MaxPatternSize tokens, and MinTokens or more in all. The first two names are vLLM's.
type Limits struct {
	MaxPatternSize, MinCount, MinTokens int
}

// pace is how many tokens come from one look to the next. A look takes some 600 instructions at 128 patterns, and a
// token of a stream some 4,000 (RATIONALE.md#273).
const pace = 80

// Texts are the texts of tokens.
type Texts interface {
	// TokenBytes returns the bytes of a token, and false if there is no such token.
	TokenBytes(id uint32) ([]byte, bool)
}

// Detector reads the tokens of one answer. Create one with [New].
type Detector struct {
	limits Limits
	texts  Texts
	// recent[:read] are the newest tokens, at least keep of them once there are so many. It is time for a look when the
	// token at lookAt is there.
	recent             []uint32
	read, keep, lookAt int
}

// New returns a Detector. It allocates 8 bytes for each token of the longest repetition that it can find.
func New(limits Limits, texts Texts) *Detector {
	keep := max(limits.MinTokens, limits.MaxPatternSize*limits.MinCount)
	return &Detector{limits: limits, texts: texts, recent: make([]uint32, 2*keep+pace), keep: keep, lookAt: pace - 1}
}

// Add takes the next token. It reports whether it is time for [Detector.Look]: it is at each 80th token, and until Look
// is called.
func (d *Detector) Add(id uint32) bool {
	at := d.read
	if at >= len(d.recent) {
		at = d.makeRoom() // no look has made room for long
		d.lookAt = 0
	}
	d.recent[at] = id
	d.read = at + 1
	return at >= d.lookAt
}

// makeRoom forgets the oldest tokens, and returns how many it keeps.
func (d *Detector) makeRoom() int { return copy(d.recent, d.recent[d.read-d.keep:d.read]) }

// Look reports whether the newest tokens are a repetition: copies of one pattern, or MinTokens of nothing but white
// space, dots and ellipses. Such runs need have no pattern.
func (d *Detector) Look() bool {
	found := d.repeats(d.recent[:d.read]) || d.saysNothing(d.recent[:d.read])
	if d.read+pace > len(d.recent) {
		d.read = d.makeRoom()
	}
	d.lookAt = d.read + pace - 1
	return found
}

// saysNothing reports whether the newest MinTokens tokens are white space, dots and ellipses.
func (d *Detector) saysNothing(tokens []uint32) bool {
	for idle := 0; idle < d.limits.MinTokens; idle++ {
		if idle >= len(tokens) {
			return false
		}
		if text, ok := d.texts.TokenBytes(tokens[len(tokens)-1-idle]); !ok || !isIdle(text) {
			return false
		}
	}
	return true
}

// repeats reports whether tokens ends with copies of one pattern.
func (d *Detector) repeats(tokens []uint32) bool {
	if len(tokens) < d.limits.MinTokens || len(tokens) == 0 {
		return false
	}
	last := len(tokens) - 1
	before := tokens[max(0, last-d.limits.MaxPatternSize):last]
	for at := len(before) - 1; at >= 0; at-- {
		if before[at] == tokens[last] && d.repeatsEvery(len(before)-at, tokens) {
			return true
		}
	}
	return false
}

// repeatsEvery reports whether tokens ends with copies of a pattern of this size.
func (d *Detector) repeatsEvery(size int, tokens []uint32) bool {
	length := max(d.limits.MinTokens, size*d.limits.MinCount)
	if length > len(tokens) {
		return false
	}
	tail := tokens[len(tokens)-length:]
	for at := length - 1; at >= size; at-- {
		if tail[at] != tail[at-size] {
			return false
		}
	}
	return true
}

// isIdle reports whether text is only white space, dots and ellipses. An ellipsis is E2 80 A6 in UTF-8, and its
// bytes may come one by one.
func isIdle(text []byte) bool {
	for _, b := range text {
		switch b {
		case ' ', '\t', '\n', '\r', '.', 0xE2, 0x80, 0xA6:
		default:
			return false
		}
	}
	return true
}
