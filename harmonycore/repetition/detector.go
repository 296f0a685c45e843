package repetition

// Limits say what a repetition is: the newest tokens are MinCount or more copies of one pattern of at most
// MaxPatternSize tokens, and MinTokens or more in all. The first two names are vLLM's.
type Limits struct {
	MaxPatternSize, MinCount, MinTokens int
}

// pace is how many tokens come between two looks. A look takes some 600 instructions at 128 patterns, and a token of a
// stream some 4,000 (RATIONALE.md#273).
const pace = 64

// Detector reads the tokens of one message. Create one with [New].
type Detector struct {
	limits Limits
	// recent[:read] are the newest tokens, at least keep of them once there are so many. The next look comes when there are
	// lookAt.
	recent             []uint32
	read, keep, lookAt int
	// idle is the number of tokens in the newest run of text that says nothing.
	idle int
}

// New returns a Detector. It allocates 8 bytes for each token of the longest repetition that it can find.
func New(limits Limits) *Detector {
	keep := max(limits.MinTokens, limits.MaxPatternSize*limits.MinCount)
	return &Detector{limits: limits, recent: make([]uint32, 2*keep+pace), keep: keep, lookAt: pace}
}

// Begin forgets all tokens: another message begins.
func (d *Detector) Begin() { d.read, d.lookAt, d.idle = 0, pace, 0 }

// Add takes the next token. It reports whether the newest tokens are a repetition. It may report one up to 63 tokens
// late.
func (d *Detector) Add(id uint32) bool {
	if d.read >= len(d.recent) {
		return false // look has made room
	}
	d.recent[d.read] = id
	d.read++
	return d.read >= d.lookAt && d.look()
}

// look reports whether the newest tokens are a repetition, and makes room for those that come before the next look.
func (d *Detector) look() bool {
	found := d.repeats(d.recent[:d.read])
	if d.read+pace > len(d.recent) {
		d.read = copy(d.recent, d.recent[d.read-d.keep:d.read])
	}
	d.lookAt = d.read + pace
	return found
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
