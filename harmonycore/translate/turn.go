package translate

import "github.com/harmonyedge/harmonyedge/harmonycore/harmony"

// lane is what a message of the model is to the client.
type lane uint8

const (
	reasoningLane lane = iota
	// preambleLane is text on the way to a call: an answer like any other for Chat, a phase of its own for Responses.
	preambleLane
	finalLane
	callLane
	// silentLane is nothing.
	silentLane
)

// turn is what every answer keeps of the model's messages. The zero lane is reasoning, so that nothing is shown as an
// answer that was not said to be one.
type turn struct {
	tools toolset
	// oneCall says that there is to be no second call.
	oneCall bool
	lane    lane
	tally   Tally
	// undeclared is the lane of what is said to functions that nobody declared.
	undeclared lane
}

func (r *Request) newTurn() turn {
	t := turn{tools: r.tools, oneCall: r.oneCall}
	if r.answers.UndeclaredContent {
		t.undeclared = preambleLane
	}
	return t
}

// open routes a message, by its recipient first and its channel second, and returns the function that it calls.
//
// Only declared functions can be called: what is said to any other recipient is told as reasoning, or on the operator's
// wish as content, and what the model writes in the name of another role always as reasoning. A message without any
// channel is taken for the answer, since that is what models write when they lose the format, and the answer must not be
// lost. Where the client wants one call only, its end is the end of the answer: the model may call again when it has the
// result.
func (t *turn) open(h harmony.Header) *shownTool {
	t.lane = reasoningLane
	if t.oneCall && t.tally.Calls > 0 {
		t.lane = silentLane
		return nil
	}
	t.tally.message(h.Channel)
	if h.Role != harmony.Assistant && h.Role != 0 {
		return nil
	}
	switch h.Recipient {
	case "", "assistant", "all", "user":
	default:
		tool := t.tools.called(h.Recipient)
		if tool == nil {
			t.lane = t.undeclared
			return nil
		}
		t.lane = callLane
		t.tally.Calls++
		return tool
	}
	switch h.Channel {
	case harmony.Final, "":
		t.lane = finalLane
	case harmony.Commentary:
		t.lane = preambleLane
	}
	return nil
}

func (t *turn) count(tokens int) { t.tally.content(t.lane, tokens) }

// ending is the end of an answer, which comes once.
type ending struct{ ended bool }

// end reports whether this is the first end of the answer.
func (e *ending) end() bool {
	first := !e.ended
	e.ended = true
	return first
}
