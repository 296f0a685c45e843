package handover

import "encoding/base64"

// A mark is a comment in the stream of an answer. It says which tokens the events before it are made of: those of all
// marks so far. Each begins with [MarkStart], a space behind it, and the base64 of a piece. The pieces of all marks
// together are the tail of a request that goes on from there:
//
//	version | length of the id | id | time | tokens of the prompt | whether there are logprobs | tokens
//
// The first mark has everything but tokens, and comes before the first event. A stream whose first comment begins with
// [RefusedStart] cannot be handed over, for the reason behind it. A mark of a stream whose server is drained may be
// followed by the comment [Drained], and one of a model that is asked for its answer by the comment [Final]. Either way
// another request goes on.
const (
	MarkStart    = ": relay "
	RefusedStart = ": no-relay "
	Drained      = ": relay-drained"
	Final        = Drained + "-final"
)

// version is the first byte of a tail.
const version = 1

// Head is what another server's gateway must know to make the same answer.
type Head struct {
	// ID and Now are the request's, at the first gateway. All ids and times in the answer come from them. Now is in
	// milliseconds since 1970.
	ID  string
	Now int64
	// PromptTokens is the length of the prompt. With another length the answer is not to another prompt.
	PromptTokens int
	// Logprobs reports whether each token has its logprob.
	Logprobs bool
}

// Writer writes the marks of an answer.
type Writer struct {
	encoding *base64.Encoding
	piece    []byte
}

// NewWriter returns the writer of an answer whose marks begin with head. A nil head is of an answer that goes on.
func NewWriter(head *Head) *Writer {
	w := &Writer{encoding: encoding()}
	if head != nil {
		w.piece = append(w.piece, version)
		w.text([]byte(head.ID))
		w.number(uint64(head.Now))
		w.number(uint64(head.PromptTokens))
		logprobs := uint64(0)
		if head.Logprobs {
			logprobs = 1
		}
		w.number(logprobs)
	}
	return w
}

// Token adds a token.
func (w *Writer) Token(id uint32) { w.number(uint64(id)) }

// Logprob adds the logprob of the token that was added last, and says how many calls of [Writer.Alternative] follow.
func (w *Writer) Logprob(logprob []byte, alternatives int) {
	w.text(logprob)
	w.number(uint64(alternatives))
}

// Alternative adds a token that could have been sampled instead, and its logprob.
func (w *Writer) Alternative(id uint32, logprob []byte) {
	w.number(uint64(id))
	w.text(logprob)
}

// Pending reports whether there is something for a mark.
func (w *Writer) Pending() bool { return len(w.piece) > 0 }

// maxKeptPiece is the largest piece whose memory is kept for the next one.
const maxKeptPiece = 4 << 10

// AppendMark appends a mark for what was added since the last one.
func (w *Writer) AppendMark(dst []byte) []byte {
	dst = w.encoding.AppendEncode(append(dst, MarkStart...), w.piece)
	if w.piece = w.piece[:0]; cap(w.piece) > maxKeptPiece {
		w.piece = nil
	}
	return append(dst, "\n\n"...)
}

func (w *Writer) number(n uint64) {
	for n >= 0x80 {
		w.piece = append(w.piece, byte(n)|0x80)
		n >>= 7
	}
	w.piece = append(w.piece, byte(n))
}

func (w *Writer) text(t []byte) {
	w.number(uint64(len(t)))
	w.piece = append(w.piece, t...)
}

// AppendRefused appends the mark of a stream that cannot be handed over.
func AppendRefused(dst []byte, reason string) []byte {
	return append(append(append(dst, RefusedStart...), reason...), "\n\n"...)
}

// AppendDrained appends the comment [Drained].
func AppendDrained(dst []byte) []byte { return append(append(dst, Drained...), "\n\n"...) }

// AppendFinal appends the comment [Final].
func AppendFinal(dst []byte) []byte { return append(append(dst, Final...), "\n\n"...) }

// AppendPiece appends what a mark's text has behind [MarkStart].
func AppendPiece(dst, text []byte) ([]byte, error) {
	return encoding().AppendDecode(dst, text)
}
