package translate

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// Form is what the servers hold the answer to, so far as the answer can be checked for it.
type Form struct {
	// JSON reports whether the arguments of calls are JSON, and Text whether the final text is.
	JSON, Text bool
	// Forced reports whether the answer is a call.
	Forced bool
}

// HoldTo records that servers hold the answer to the request's [Constraint].
func (r *Request) HoldTo(c *Constraint) {
	r.form = Form{JSON: true, Text: c.Schema != "", Forced: c.Forced}
}

// Held stands between a parser and a [Choice] of an answer that servers hold to a form. It follows the JSON of the open
// message. A server whose grammar is about text lets control tokens into strings (docs/structured-outputs.md). Held tells
// the parser so ([harmony.Unfinished]), and finds messages that ended too early all the same (RATIONALE.md#219).
type Held struct {
	Choice
	turn turn
	form Form
	// follows reports whether the open message is JSON, and json is what came of it.
	follows bool
	json    rawjson.Pieces
	broken  bool
}

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
	h.follows = h.form.JSON && tool != nil && !tool.custom || h.form.Text && h.turn.lane == finalLane
	h.json = rawjson.Pieces{}
	h.Choice.Open(header)
}

// Content implements [harmony.Sink].
func (h *Held) Content(text []byte, tokens int) {
	if h.follows {
		h.json.Add(text)
	}
	h.Choice.Content(text, tokens)
}

// Close implements [harmony.Sink]. JSON that is not whole was cut, whatever the model ended it with.
func (h *Held) Close(end harmony.End) {
	if h.Unfinished() {
		h.broken, end = true, harmony.Cut
	}
	h.follows = false
	h.Choice.Close(end)
}

// Unfinished implements [harmony.Unfinished].
func (h *Held) Unfinished() bool { return h.follows && !h.json.Whole() }

// Broken reports whether a message of JSON has ended before it was whole.
func (h *Held) Broken() bool { return h.broken }

// Lacks reports whether the answer, which has ended, does not have the form: a message of JSON is not whole, or no tool
// was called that had to be.
func (h *Held) Lacks() bool { return h.broken || h.form.Forced && h.turn.tally.Calls == 0 }
