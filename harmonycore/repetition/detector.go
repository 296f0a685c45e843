package repetition

// Limits say what a repetition is: the newest tokens are MinCount or more copies of one pattern of at most
// MaxPatternSize tokens, and MinTokens or more in all. The first two names are vLLM's.
type Limits struct {
	MaxPatternSize, MinCount, MinTokens int
}

// pace is how many tokens come between two looks. A look costs about as much as a token's event does, at 128 patterns:
// every 32nd token makes it a few percent of one (RATIONALE.md#273).
const pace = 32

// Detector reads the tokens of one message. Create one with [New].
type Detector struct {
	limits Limits
	// recent are the newest tokens, at least keep of them once there are so many. Its capacity is twice keep, so that old
	// ones are moved out rarely.
	recent []uint32
	keep   int
	// untilLook is how many tokens come before the next look.
	untilLook int
	// idle is the number of tokens in the newest run of text that says nothing.
	idle int
}

// New returns a Detector. It allocates 8 bytes for each token of the longest repetition that it can find.
func New(limits Limits) *Detector {
	keep := max(limits.MinTokens, limits.MaxPatternSize*limits.MinCount)
	return &Detector{limits: limits, recent: make([]uint32, 0, 2*keep), keep: keep, untilLook: pace}
}

// Begin forgets all tokens: another message begins.
func (d *Detector) Begin() {
	d.recent, d.untilLook, d.idle = d.recent[:0], pace, 0
}

// Add takes the next token. It reports whether the newest tokens are a repetition. It may report one up to 31 tokens
// late.
func (d *Detector) Add(id uint32) bool {
	if len(d.recent) == cap(d.recent) {
		d.recent = d.recent[:copy(d.recent, d.recent[len(d.recent)-d.keep+1:])]
	}
	d.recent = append(d.recent, id)
	if d.untilLook--; d.untilLook > 0 {
		return false
	}
	d.untilLook = pace
	return d.repeats()
}

// Text takes the text of so many tokens. It reports whether the newest text has said nothing for MinTokens tokens: it
// was only white space, dots and ellipses. Such runs need have no pattern.
func (d *Detector) Text(text []byte, tokens int) bool {
	if len(text) == 0 || tokens == 0 {
		return false
	}
	if !saysNothing(text) {
		d.idle = 0
		return false
	}
	d.idle += tokens
	return d.idle >= d.limits.MinTokens
}

// repeats reports whether the newest tokens are copies of one pattern.
func (d *Detector) repeats() bool {
	n := len(d.recent)
	if n < d.limits.MinTokens || n == 0 {
		return false
	}
	last := d.recent[n-1]
	for size := 1; size <= d.limits.MaxPatternSize && size < n; size++ {
		if d.recent[n-1-size] == last && d.repeatsEvery(size) {
			return true
		}
	}
	return false
}

// repeatsEvery reports whether the newest tokens are copies of a pattern of this size.
func (d *Detector) repeatsEvery(size int) bool {
	length := max(d.limits.MinTokens, size*d.limits.MinCount)
	if length > len(d.recent) {
		return false
	}
	tail := d.recent[len(d.recent)-length:]
	for at := length - 1; at >= size; at-- {
		if tail[at] != tail[at-size] {
			return false
		}
	}
	return true
}

// saysNothing reports whether text is only white space, dots and ellipses. An ellipsis is E2 80 A6 in UTF-8, and its
// bytes may come one by one.
func saysNothing(text []byte) bool {
	for _, b := range text {
		switch b {
		case ' ', '\t', '\n', '\r', '.', 0xE2, 0x80, 0xA6:
		default:
			return false
		}
	}
	return true
}
