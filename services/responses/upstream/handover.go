package upstream

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/handover"
)

// Handover is what the service keeps of an answer so that another server can finish it. A nil one keeps nothing.
type Handover struct {
	// hold takes memory.
	hold func(int64) error
	// tail is what the marks have said, and asked how much of it there was when the gateway was asked last.
	tail  []byte
	asked int
	// form is what is known of the stream that is read.
	form streamForm
	// resumes is how often another server was asked, and idle how often in a row without a new token.
	resumes, idle int
	// drained reports whether the server of the answer is drained, or, with final, whether the model is to be asked for
	// its answer. moves is how often another one was asked for that, and nextMove when one may be asked again.
	drained  bool
	final    bool
	moves    int
	nextMove time.Time
	// refused is why the answer cannot be handed over, or empty.
	refused string
}

// streamForm says whether a stream has marks.
type streamForm uint8

const (
	unknown streamForm = iota
	marked
	plain
)

// The limits of handing over.
const (
	// maxTail is how much is kept of an answer. A full context of tokens is a twentieth, without logprobs.
	maxTail = 8 << 20
	// MaxWaiting is how much of a stream waits for the next mark. The gateway writes one after each piece.
	MaxWaiting = 4 << 20
	// maxResumes is how often another server is asked for one answer, and maxIdle how often in a row without a token.
	maxResumes = 16
	maxIdle    = 4
	// firstPause is how long the second try without a token waits, and each later one four times as long.
	firstPause = 250 * time.Millisecond
	// maxMoves is how often another server is asked for an answer because its server is drained. After the first time it
	// is firstMove until the next, and then twice as long each time.
	maxMoves  = 12
	firstMove = time.Second
)

// What became of an answer that was cut: another server goes on with it, none does after some tries, or it cannot be
// handed over. An answer that was moved was not cut: its server is drained, and another one goes on with it. One that is
// asked for as final was not cut either: the model has repeated itself.
const (
	Resumed = "resumed"
	Moved   = "moved"
	Final   = "final"
	GivenUp = "given_up"
	Refused = "refused"
)

// The reasons of the service's own why an answer cannot be handed over.
const (
	refusedKeys    = "no_keys"
	refusedMemory  = "no_memory"
	refusedSize    = "too_large"
	refusedGateway = "older_gateway"
)

// NewHandover returns what keeps an answer, or nil if the service and the gateway have no keys in common.
func (c *Client) NewHandover(hold func(int64) error) *Handover {
	if c.keys == nil {
		return nil
	}
	return &Handover{hold: hold}
}

// Begin is called before a stream is read.
func (h *Handover) Begin() {
	if h != nil {
		h.form, h.asked, h.drained, h.final = unknown, len(h.tail), false, false
	}
}

// Marked reports whether what comes waits for the next mark.
func (h *Handover) Marked() bool { return h != nil && h.form != plain }

// Take takes what may be a mark: an event, or a line. mark reports whether it is one, so that what came before it is
// kept. Anything else that comes first makes the stream a plain one.
func (h *Handover) Take(event []byte) (mark bool) {
	text, isMark := bytes.CutPrefix(event, []byte(handover.MarkStart))
	reason, isRefused := bytes.CutPrefix(event, []byte(handover.RefusedStart))
	switch {
	case bytes.HasPrefix(event, []byte(handover.Drained)):
		h.drained, h.final = h.form == marked, bytes.HasPrefix(event, []byte(handover.Final))
		return true
	case isMark:
		if h.form != plain {
			h.form = marked
			h.keep(bytes.TrimRight(text, "\n"))
		}
		return true
	case isRefused:
		h.Refuse(string(bytes.TrimRight(reason, "\n")))
		return true
	case h.form == unknown && h.asked == 0:
		h.Refuse(refusedGateway)
	case h.form == unknown: // the gateway has ended it by itself
		h.form = plain
	}
	return false
}

// keep keeps what a mark says.
func (h *Handover) keep(text []byte) {
	before := len(h.tail)
	if before+len(text) > maxTail {
		h.Refuse(refusedSize)
		return
	}
	tail, err := handover.AppendPiece(h.tail, text)
	if err != nil {
		h.Refuse(refusedGateway)
		return
	}
	if h.hold(int64(len(tail)-before)) != nil {
		h.Refuse(refusedMemory)
		return
	}
	h.tail = tail
}

// Refuse says that the answer cannot be handed over.
func (h *Handover) Refuse(reason string) {
	h.form, h.refused = plain, reason
}

// TooLarge says that more of the stream waits for a mark than may.
func (h *Handover) TooLarge() { h.Refuse(refusedSize) }

// Size returns how much memory is held.
func (h *Handover) Size() int64 {
	if h == nil {
		return 0
	}
	return int64(len(h.tail))
}

// Refused returns why the answer cannot be handed over, or an empty text.
func (h *Handover) Refused() string {
	if h == nil {
		return refusedKeys
	}
	return h.refused
}

// Tokens returns how many tokens of the answer are kept.
func (h *Handover) Tokens() int { return handover.Tokens(h.tail) }

// Resumes returns how often another server was asked.
func (h *Handover) Resumes() int { return h.resumes }

// Again reports whether another server may be asked, and waits before a further try.
func (h *Handover) Again(ctx context.Context) bool {
	if h == nil || h.refused != "" || ctx.Err() != nil {
		return false
	}
	if len(h.tail) > h.asked {
		h.idle = 0
	}
	if h.asked = len(h.tail); h.resumes >= maxResumes || h.idle >= maxIdle {
		return false
	}
	h.resumes++
	h.idle++
	if h.idle == 1 {
		return true
	}
	wait := time.NewTimer(firstPause << (2 * (h.idle - 2)))
	defer wait.Stop()
	select {
	case <-wait.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Moves returns [Moved] if another server is to be asked now because the answer's own is drained, [Final] if one is to
// be asked for the answer, or nothing. All that has come of the answer is kept at that moment. If no other server takes
// it, the answer goes on where it is.
func (h *Handover) Moves(now time.Time) string {
	if h == nil || !h.drained {
		return ""
	}
	h.drained = false
	if h.moves >= maxMoves || !h.final && now.Before(h.nextMove) {
		return ""
	}
	h.nextMove = now.Add(firstMove << h.moves)
	h.moves++
	if h.final {
		return Final
	}
	return Moved
}

// MovedText and StaysText are what the log says of an answer that another request goes on with, and of one that none
// does.
func MovedText(why string) string {
	if why == Final {
		return "a model that repeats itself is asked for its answer"
	}
	return "an answer is moved from a server that is drained to another one"
}

// StaysText is described at [MovedText].
func StaysText(why string) string {
	if why == Final {
		return "a model that repeats itself cannot be asked for its answer: no server takes the request"
	}
	return "an answer stays with a server that is drained: no other one takes it"
}

// Recovers reports whether a status with which the gateway refuses may be another one soon.
func Recovers(status int) bool {
	return status >= http.StatusInternalServerError || status == http.StatusTooManyRequests
}

// Lost reports whether a failure is one of the model's server, and not of the request.
func Lost(failure *openai.Error) bool {
	return failure.Code == contract.CodeServerError && failure.Status >= http.StatusInternalServerError
}

// handOver returns a request's body with what is kept of the answer behind it, and the header that says so.
func (c *Client) handOver(q *Question) (body []byte, value string, err error) {
	tail := q.Handover.tail
	if value, err = handover.Sign(c.keys, tail, time.Now().Unix()); err != nil || len(tail) == 0 {
		return q.Body, value, err
	}
	return slices.Concat(q.Body, tail), value, nil
}
