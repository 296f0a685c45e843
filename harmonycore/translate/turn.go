package translate

import (
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
	"github.com/harmonyedge/harmonyedge/internal/rawjson"
	"github.com/harmonyedge/harmonyedge/internal/schema"
)

// lane is the use of a message of the model for the client.
type lane uint8

const (
	reasoningLane lane = iota
	// preambleLane is text before a call. In Chat it is content like any other; in Responses it has a phase of its own.
	preambleLane
	finalLane
	callLane
)

// turn is the state that every answer keeps about the model's messages. The zero lane is reasoning: text is never shown
// as an answer unless open has decided so.
type turn struct {
	tools toolset
	lane  lane
	tally Tally
	// undeclared is the lane of messages to functions that the request does not declare (RATIONALE.md#17).
	undeclared lane
	// undeclaredCalls reports whether they are calls all the same.
	undeclaredCalls bool
	// builtIn reports whether the open message calls a built-in tool of the model that the request does not offer.
	builtIn bool
	// arguments are the open call's, if they are checked against schema.
	arguments []byte
	schema    []byte
	// givenID is the id that the server has given the next call. givenIDs are the ids of the calls so far.
	givenID  string
	givenIDs []string
	// answered reports whether a message was sent as the answer. requireFinal reports whether the operator requires one.
	answered, requireFinal bool
}

func (r *Request) newTurn() turn {
	t := turn{tools: r.tools, requireFinal: r.answers.RequireFinalChannel}
	switch r.answers.UndeclaredCalls {
	case contract.CallsAsContent:
		t.undeclared = preambleLane
	case contract.CallsAsCalls:
		t.undeclaredCalls = true
	}
	return t
}

// open chooses the lane of a message, first by its recipient and then by its channel. It returns the tool that the
// message calls, or nil.
//
// Only declared tools can be called. A message to any other recipient is reasoning, or else what the operator has
// configured. A message in the name of another role is always reasoning. A message without a channel is the
// answer: models write such messages when they lose the format, and the answer must not be lost.
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
		tool := t.tools.byRecipient(h.Recipient)
		if tool == nil && t.undeclaredCalls {
			tool = undeclaredFunction(h.Recipient)
		}
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

// Reasoning implements [Choice].
func (t *turn) Reasoning() bool { return t.lane == reasoningLane }

// maxFunction is the maximum length of the name of a function that is not declared, in bytes.
const maxFunction = 64

// undeclaredFunction returns the function that a recipient names, or nil if it names none, or one that no API allows.
func undeclaredFunction(recipient string) *shownTool {
	name, ok := strings.CutPrefix(recipient, FunctionPrefix)
	if !ok || name == "" || len(name) > maxFunction {
		return nil
	}
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return nil
		}
	}
	return &shownTool{calledTool: calledTool{shown: name}, name: name}
}

// maxCallID is the maximum length of a server's id of a call, in bytes. A longer one is replaced.
const maxCallID = 256

// CallID implements [Choice].
func (t *turn) CallID(id []byte) {
	t.givenID = ""
	if len(id) <= maxCallID {
		t.givenID = string(id)
	}
}

// idOfCall returns the id of the call that was opened: the server's, or else own. A client could not tell two calls
// with one id apart.
func (t *turn) idOfCall(own string) string {
	id := t.givenID
	t.givenID = ""
	if id == "" || slices.Contains(t.givenIDs, id) {
		return own
	}
	t.givenIDs = append(t.givenIDs, id)
	return id
}

// isBuiltIn reports whether a recipient is one of the tools that gpt-oss was trained with, or a method of one.
func isBuiltIn(recipient string) bool {
	name, _, _ := strings.Cut(recipient, ".")
	return openai.IsBuiltIn(name)
}

// content counts content of the open message, and keeps arguments that are to be checked.
func (t *turn) content(text []byte, tokens int) {
	t.tally.content(t.lane, tokens)
	if t.lane == callLane && len(t.schema) > 0 && len(t.arguments) <= maxArguments {
		t.arguments = append(t.arguments, text...)
	}
}

// maxArguments is the maximum length of arguments that are checked against a schema, in bytes.
const maxArguments = 64 << 10

// close ends the open message. Arguments that do not match the declared schema are counted and passed on unchanged,
// because the client's own check decides. Truncated arguments are not counted: they are not the model's fault.
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

// lacksFinal reports whether the model ended by itself without an answer and without a call, and counts such ends.
func (t *turn) lacksFinal(f Finish) bool {
	if f != Stop || t.answered || t.tally.Calls > 0 {
		return false
	}
	t.tally.NoFinal++
	return true
}

// contentIsNull reports whether the content of an answer without text is null rather than empty. It is null next to
// calls, and if the final message that the operator requires did not come.
func (t *turn) contentIsNull(f Finish) bool {
	return t.lacksFinal(f) && t.requireFinal || t.tally.Calls > 0
}

// ending makes the end of an answer happen once.
type ending struct{ ended bool }

// end ends the answer and reports whether it was still open.
func (e *ending) end() bool {
	first := !e.ended
	e.ended = true
	return first
}
