package harmony

// FallbackTo is how text is read that turns out not to be Harmony.
type FallbackTo uint8

const (
	// NoFallback waits for a control token without a limit. Text without one is still an answer, unless it begins like a
	// header; then it is held for as long as a header may be.
	NoFallback FallbackTo = iota
	// FallBackToFinal reads the text as an answer.
	FallBackToFinal
	// FallBackToSplit reads the text as the dialect [Split]. The text is held until the decision: if it ends before that
	// without any mark, it is an answer. The mark of [Split] decides at once.
	FallBackToSplit
)

// The default limits of a [Fallback]. They leave a slow server enough time for a header. Other programs name them
// min_tokens_before_fallback and fallback_on_timeout_ms.
const (
	DefaultMinTokens = 32
	DefaultTimeoutMS = 600
)

// MaxUndecided is the greatest amount of text held for a decision, in bytes. At that amount the parser falls back.
const MaxUndecided = 16 << 10

// Fallback decides when the parser stops waiting for Harmony. It falls back at the first byte of text for which all of
// these hold:
//
//   - no control token precedes it,
//   - [Fallback.MinTokens] times four bytes of text precede it,
//   - its chunk came [Fallback.TimeoutMS] or more after the first chunk. If the byte's meaning depends on later bytes,
//     the chunk counts that decides it.
//
// So the parser decides only when a chunk arrives, and not in the middle of a header that a slow server writes. A limit
// of zero sets no condition.
//
// A control token that comes later still counts: the parser separates the channel that it begins from the text before
// it.
type Fallback struct {
	To        FallbackTo
	MinTokens int
	TimeoutMS int64
}

// watch finds the moment of falling back.
type watch struct {
	enabled, fellBack bool
	minBytes          int
	timeout           int64
	// startedAt is the time of the first chunk. timedOut reports whether the timeout has passed.
	startedAt         int64
	started, timedOut bool
	// bytes counts text up to [MaxUndecided].
	bytes int
	held  []byte
}

func (w *watch) init(f Fallback) {
	w.enabled = f.To != NoFallback
	w.minBytes = min(max(f.MinTokens, 0), MaxUndecided/bytesPerToken) * bytesPerToken
	w.timeout = f.TimeoutMS
}

func (w *watch) tick(now int64, text bool) {
	if w.timedOut {
		return
	}
	if !w.started {
		if !text {
			return
		}
		w.started = true
		w.startedAt = now
	}
	w.timedOut = now-w.startedAt >= w.timeout
}

// decidesNext reports whether the next byte of text triggers the fallback.
func (w *watch) decidesNext() bool {
	return w.enabled && w.timedOut && w.bytes > 0 && w.bytes >= w.minBytes
}

// bytesLeft returns how many of n bytes of text may pass before the fallback.
func (w *watch) bytesLeft(n int, held bool) int {
	if held {
		n = min(n, MaxUndecided-len(w.held))
	}
	if w.timedOut {
		n = min(n, w.minBytes-w.bytes)
	}
	return n
}

func (w *watch) count(n int) { w.bytes = min(w.bytes+n, MaxUndecided) }

// fallBack reads the stream as one without Harmony from now on.
func (p *TextParser) fallBack() {
	p.watch.enabled = false
	p.watch.fellBack = true
	if p.mode == undecided {
		p.recoveries[ImplicitSplit]++
		held := p.watch.held
		p.watch.held = nil
		p.mode = splitting
		if len(held) > 0 {
			p.pass(held)
		}
		return
	}
	if p.state == inHeader && p.machine.head.headless() {
		p.openImplicit()
	}
}

// release ends the wait without falling back.
func (p *TextParser) release() {
	p.watch.enabled = false
	if p.mode != undecided {
		return
	}
	held := p.watch.held
	p.watch.held = nil
	p.mode = printed
	p.text(held)
}
