package translate

import (
	"bytes"

	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Form is what the servers hold the answer to, so far as the answer can be checked for it.
type Form struct {
	// JSON reports whether the arguments of calls are JSON, Inputs whether inputs of custom tools have a form, and Text
	// whether the final text is JSON.
	JSON, Inputs, Text bool
	// Forced reports whether the answer is a call, and Formed whether it is a call or a final text.
	Forced, Formed bool
}

// HoldTo records that servers hold the answer to the request's [Constraint].
func (r *Request) HoldTo(c *Constraint) {
	r.form = Form{JSON: !c.Loose, Inputs: true, Text: c.Schema != "", Forced: c.Forced, Formed: c.Formed()}
}

// Held stands between a parser and a [Choice] of an answer that servers hold to a form. It follows the JSON of the open
// message. A server whose grammar is about text lets control tokens into strings (docs/structured-outputs.md). Held tells
// the parser so ([harmony.Unfinished]), and finds messages that ended too early all the same (RATIONALE.md#219). Such a
// server also takes <|call|> in ordinary tokens for the end of a call.
type Held struct {
	Choice
	turn turn
	form Form
	// follows reports whether the open message is JSON, and json is what came of it.
	follows bool
	json    rawjson.Pieces
	broken  bool
	// input reports whether the open message is an input with a form. Nothing of it is followed.
	input bool
	// calls reports whether the open message is a call, and tail is the end of its text that may begin callSpelling.
	calls bool
	tail  []byte
	// spelledEnds counts the calls that ended with callSpelling.
	spelledEnds uint32
}

// callSpelling is the control token that ends a call, in ordinary tokens.
const callSpelling = "<|call|>"

// Held returns the Held to put between a parser and c, or nil if servers hold the answer to nothing.
func (r *Request) Held(c Choice) *Held {
	if r.form == (Form{}) {
		return nil
	}
	return &Held{Choice: c, turn: r.newTurn(), form: r.form}
}

// Open implements [harmony.Sink].
func (h *Held) Open(header harmony.Header) {
	tool := h.turn.open(header)
	h.calls = tool != nil
	h.follows = h.form.JSON && tool != nil && !tool.custom || h.form.Text && h.turn.lane == finalLane
	h.input = h.form.Inputs && tool != nil && tool.formed
	h.json = rawjson.Pieces{}
	h.Choice.Open(header)
}

// Content implements [harmony.Sink]. It keeps back what may be the spelled end of a call.
func (h *Held) Content(text []byte, tokens int) {
	if !h.calls {
		h.pass(text, tokens)
		return
	}
	if len(h.tail) > 0 {
		h.tail = append(h.tail, text...)
		text = h.tail
	}
	at := len(text) - overlap(text, callSpelling)
	h.pass(text[:at], tokens)
	h.tail = append(h.tail[:0], text[at:]...)
}

// overlap returns the length of the longest end of text that is a beginning of word.
func overlap(text []byte, word string) int {
	for n := min(len(text), len(word)); n > 0; n-- {
		if bytes.HasSuffix(text, []byte(word[:n])) {
			return n
		}
	}
	return 0
}

// pass passes content on.
func (h *Held) pass(text []byte, tokens int) {
	if h.follows {
		h.json.Add(text)
	}
	h.Choice.Content(text, tokens)
}

// Close implements [harmony.Sink]. JSON that is not whole was cut, whatever the model ended it with.
func (h *Held) Close(end harmony.End) {
	if string(h.tail) == callSpelling {
		h.spelledEnds++
	} else if len(h.tail) > 0 {
		h.pass(h.tail, 0)
	}
	h.tail = h.tail[:0]
	if h.follows && !h.json.Whole() {
		h.broken, end = true, harmony.Cut
	}
	h.follows, h.input = false, false
	h.Choice.Close(end)
}

// Unfinished implements [harmony.Unfinished]. Only <|call|> ends an input with a form.
func (h *Held) Unfinished() bool { return h.input || h.follows && !h.json.Whole() }

// SpelledEnds returns the number of calls whose end was spelled in ordinary tokens. It is not in their text.
func (h *Held) SpelledEnds() uint32 { return h.spelledEnds }

// Broken reports whether a message of JSON has ended before it was whole.
func (h *Held) Broken() bool { return h.broken }

// Lacks reports whether the answer, which has ended, does not have the form: a message of JSON is not whole, no tool was
// called that had to be, or there is neither a call nor a final text, one of which has the form.
func (h *Held) Lacks() bool {
	called := h.turn.tally.Calls > 0
	return h.broken || h.form.Forced && !called || h.form.Formed && !called && !h.turn.answered
}
