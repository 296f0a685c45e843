package handover

// Reader reads a tail.
type Reader struct {
	rest []byte
	// logprobs is [Head.Logprobs].
	logprobs bool
	broken   bool
}

// Open reads the head of a tail.
func (r *Reader) Open(tail []byte) (head Head, ok bool) {
	if len(tail) == 0 || tail[0] != version {
		return head, false
	}
	r.rest = tail[1:]
	head.ID = string(r.text())
	head.Now = int64(r.number())
	head.PromptTokens = int(min(r.number(), maxNumber))
	r.logprobs = r.number() == 1
	head.Logprobs = r.logprobs
	return head, !r.broken && head.ID != ""
}

// maxNumber bounds numbers that are used as sizes: they have 32 bits in the filter.
const maxNumber = 1 << 30

// Next reports whether there is another token, and returns its id. [Reader.Logprob] follows if the head says so.
func (r *Reader) Next() (id uint32, more bool) {
	if r.broken || len(r.rest) == 0 {
		return 0, false
	}
	return uint32(min(r.number(), maxNumber)), !r.broken
}

// Logprob returns the logprob of the token, and how many calls of [Reader.Alternative] follow. The text lies in the
// tail's memory.
func (r *Reader) Logprob() (logprob []byte, alternatives int) {
	logprob = r.text()
	return logprob, r.count()
}

// Alternative returns a token that could have been sampled instead, and its logprob.
func (r *Reader) Alternative() (id uint32, logprob []byte) {
	id = uint32(min(r.number(), maxNumber))
	return id, r.text()
}

// Broken reports whether the tail does not have its form.
func (r *Reader) Broken() bool { return r.broken }

// Tokens returns how many tokens a tail has.
func Tokens(tail []byte) int {
	var r Reader
	head, _ := r.Open(tail)
	for n := 0; ; n++ {
		if _, more := r.Next(); !more {
			return n
		}
		if head.Logprobs {
			_, alternatives := r.Logprob()
			for range alternatives {
				r.Alternative()
			}
		}
	}
}

// count reads a number of elements, of which each has two bytes at least.
func (r *Reader) count() int {
	n := r.number()
	if n > uint64(len(r.rest)/2) {
		r.broken = true
		return 0
	}
	return int(n)
}

// maxNumberLength is the maximum length of a number, in bytes.
const maxNumberLength = 9

func (r *Reader) number() uint64 {
	n := uint64(0)
	for i := 0; i < maxNumberLength && i < len(r.rest); i++ {
		c := r.rest[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.rest = r.rest[i+1:]
			return n
		}
	}
	r.broken, r.rest = true, nil
	return 0
}

func (r *Reader) text() []byte {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.broken, r.rest = true, nil
		return nil
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}
