package translate

import (
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/schema"
)

// lane is what a message of the model is to the client.
type lane uint8

const (
	reasoningLane lane = iota
	// preambleLane is text on the way to a call: an answer like any other for Chat, a phase of its own for Responses.
	preambleLane
	finalLane
	callLane
)

// turn is what every answer keeps of the model's messages. The zero lane is reasoning, so that nothing is shown as an
// answer that was not said to be one.
type turn struct {
	tools toolset
	lane  lane
	tally Tally
	// undeclared is the lane of what is said to functions that nobody declared.
	undeclared lane
	// builtIn says that the open message calls a tool that comes with the model, and that nobody offered it.
	builtIn bool
	// arguments are those of the open call, as far as they are held against its schema.
	arguments []byte
	schema    []byte
	// answered says that a message was told as the answer, requireFinal that the operator wants one.
	answered, requireFinal bool
}

func (r *Request) newTurn() turn {
	t := turn{tools: r.tools, requireFinal: r.answers.RequireFinalChannel}
	if r.answers.UndeclaredCalls == contract.CallsAsContent {
		t.undeclared = preambleLane
	}
	return t
}

// open routes a message, by its recipient first and its channel second, and returns the function that it calls.
//
// Only declared functions can be called: what is said to any other recipient is told as reasoning, or on the operator's
// wish as content, and what the model writes in the name of another role always as reasoning. A message without any
// channel is taken for the answer, since that is what models write when they lose the format, and the answer must not be
// lost.
func (t *turn) open(h harmony.Header) *shownTool {
	t.lane, t.builtIn = reasoningLane, false
	t.tally.message(h.Channel)
	if h.Role != harmony.Assistant && h.Role != 0 {
		return nil
	}
	switch h.Kind() {
	case harmony.PartText:
		t.lane = finalLane
		t.answered = true
	case harmony.PartPreamble:
		t.lane = preambleLane
	case harmony.PartToolCall:
		tool := t.tools.called(h.Recipient)
		if tool == nil {
			t.lane = t.undeclared
			t.builtIn = isBuiltIn(h.Recipient)
			return nil
		}
		t.lane = callLane
		t.tally.Calls++
		t.arguments, t.schema = t.arguments[:0], tool.schema
		return tool
	}
	return nil
}

// isBuiltIn reports whether a recipient is one of the tools that gpt-oss was trained with, or a method of one.
func isBuiltIn(recipient string) bool {
	namespace, _, _ := strings.Cut(recipient, ".")
	return namespace == "browser" || namespace == "python" || namespace == "container"
}

// content takes content of the open message.
func (t *turn) content(text []byte, tokens int) {
	t.tally.content(t.lane, tokens)
	if t.lane == callLane && len(t.schema) > 0 && len(t.arguments) <= maxArguments {
		t.arguments = append(t.arguments, text...)
	}
}

// maxArguments are the longest arguments that are held against a schema, in bytes.
const maxArguments = 64 << 10

// close ends the open message. Arguments that do not fit what was declared are counted and passed on as they are: the
// client's own check is the one that counts. Those that were cut off are no fault of the model's.
func (t *turn) close(end harmony.End) {
	if t.lane != callLane || len(t.schema) == 0 || end == harmony.Cut || len(t.arguments) > maxArguments {
		return
	}
	declared, err := rawjson.Parse(t.schema, openai.MaxSchemaDepth)
	t.schema = nil
	if err != nil {
		return
	}
	arguments, err := rawjson.Parse(t.arguments, rawjson.MaxDepth)
	if err != nil || !schema.Fits(declared, arguments) {
		t.tally.UnfitArguments++
	}
}

// noFinal reports whether the model has ended by itself without an answer and without a call, and counts it.
func (t *turn) noFinal(f Finish) bool {
	if f != Stop || t.answered || t.tally.Calls > 0 {
		return false
	}
	t.tally.NoFinal++
	return true
}

// noContent reports whether the content of an answer without text is none, and not empty: beside calls, and where the
// operator wants a final message that did not come.
func (t *turn) noContent(f Finish) bool {
	return t.noFinal(f) && t.requireFinal || t.tally.Calls > 0
}

// ending is the end of an answer, which comes once.
type ending struct{ ended bool }

// end reports whether this is the first end of the answer.
func (e *ending) end() bool {
	first := !e.ended
	e.ended = true
	return first
}
