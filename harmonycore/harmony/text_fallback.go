package harmony

// FallbackTo is what text becomes that turns out not to be Harmony.
type FallbackTo uint8

const (
	// NoFallback waits for a control token for ever. Text without one is an answer all the same, unless it begins like
	// a header: then it is held as long as a header may be.
	NoFallback FallbackTo = iota
	// FallBackToFinal makes it an answer.
	FallBackToFinal
	// FallBackToSplit reads it as the dialect [Split]. Until the decision text is held, so that an answer without any
	// mark that ends before it is an answer; a [FinalMark] decides at once.
	FallBackToSplit
)

// Limits for a [Fallback] that leave a slow server time for a header. Others call them min_tokens_before_fallback and
// fallback_on_timeout_ms.
const (
	DefaultMinTokens = 32
	DefaultTimeoutMS = 600
)

// MaxUndecided is the most text that is held for a decision, in bytes; with it the fallback waits no longer.
const MaxUndecided = 16 << 10

// Fallback says when the parser gives up waiting for Harmony. It falls back at the first byte of text for which all of
// this holds: no control token stands before it; [Fallback.MinTokens] times four bytes of text do; and the chunk that
// settles that it is text came [Fallback.TimeoutMS] or more after the first chunk. So it is decided only when a chunk
// arrives, and not in the middle of a header that a slow server writes. Zero is no condition.
//
// A control token that comes later is one all the same: the channel that it names is told from the text before it.
type Fallback struct {
	To        FallbackTo
	MinTokens int
	TimeoutMS int64
}

// watch looks out for the moment of falling back.
type watch struct {
	on, fell bool
	need     int
	timeout  int64
	// since is when the first chunk came, due that the time has passed.
	since        int64
	started, due bool
	// bytes counts text, and stops at [MaxUndecided].
	bytes int
	held  []byte
}

func (w *watch) init(f Fallback) {
	w.on = f.To != NoFallback
	w.need = min(max(f.MinTokens, 0), MaxUndecided/bytesPerToken) * bytesPerToken
	w.timeout = f.TimeoutMS
}

func (w *watch) tick(now int64, text bool) {
	if !w.started {
		if !text {
			return
		}
		w.started = true
		w.since = now
	}
	w.due = now-w.since >= w.timeout
}

// overdue says that the next byte of text would bring the decision.
func (w *watch) overdue() bool { return w.on && w.due && w.bytes > 0 && w.bytes >= w.need }

// room is how many of n bytes of text may pass before the fallback.
func (w *watch) room(n int, held bool) int {
	if held {
		n = min(n, MaxUndecided-len(w.held))
	}
	if w.due {
		n = min(n, w.need-w.bytes)
	}
	return n
}

func (w *watch) count(n int) { w.bytes = min(w.bytes+n, MaxUndecided) }

// fallBack takes the stream for one without Harmony.
func (p *TextParser) fallBack() {
	p.watch.on = false
	p.watch.fell = true
	if p.mode == undecided {
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
	p.watch.on = false
	if p.mode != undecided {
		return
	}
	held := p.watch.held
	p.watch.held = nil
	p.mode = printed
	p.text(held)
}
