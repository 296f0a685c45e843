//go:build e2e

package clients

import (
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/sim"
)

// claudeFailures are the rows.
var claudeFailures = []*claudeFailure{
	// What the gateway refuses.
	{title: "a model that does not exist", model: "unknown", acts: answered, says: "There's an issue", asks: 2},
	{title: "an unknown key", key: "other", acts: answered, says: "Failed to authenticate", asks: 3},
	{title: "a limit of requests by the minute", key: minuteKey, host: "envoy", says: done, asks: 2, acts: answered,
		prepare: func(t *testing.T, c *claudeCell) { c.useUp(t, minuteKey, 2) }},
	{title: "a limit of requests by the day", key: dayKey, host: "envoy", says: "API Error", asks: 1, acts: answered,
		prepare: func(t *testing.T, c *claudeCell) { c.useUp(t, dayKey, 1) }},
	{title: "a limit of tokens below what a request needs", key: fewKey, host: "envoy", says: "API Error", asks: 1,
		acts: answered},
	{title: "a pool that is full", model: fullModel, host: "envoy", says: "API Error", asks: 3, acts: answered,
		prepare: func(t *testing.T, c *claudeCell) { c.occupy(t) }},
	{title: "a first body that is too large", says: "Request too large", asks: 1, acts: answered,
		prepare: func(t *testing.T, c *claudeCell) { c.put(t, "CLAUDE.md", []byte(strings.Repeat("Be kind.\n", 30_000))) }},
	{title: "a first prompt that is too long", model: tinyModel, acts: answered, says: "Prompt is too long", asks: 3},
	{title: "a later prompt that is too long", model: smallModel, acts: summarized(asked(numbersAnd("plum")),
		after("\nplum", numbersAnd("cherry")), after("\ncherry", numbersAnd("apple")), after("\napple", saying("One."))),
		says: done, asks: 9},
	{title: "a picture that is refused", acts: []act{asked(calling("Read", arguments{"file_path": "picture.png"})),
		after("functions.Read to=assistant", saying(done)), after("<|start|>user", saying(done))}, says: done, asks: 4,
		prepare: func(t *testing.T, c *claudeCell) { c.put(t, "picture.png", picture()) }},
	{title: "a PDF that is refused", acts: []act{asked(calling("Read", arguments{"file_path": "page.pdf"})),
		after("functions.Read to=assistant", saying(done)), after("<|start|>user", saying(done))}, says: done, asks: 4,
		prepare: func(t *testing.T, c *claudeCell) { c.put(t, "page.pdf", page()) }},
	{title: "pictures that make a body too large", model: dropModel, acts: []act{
		asked(strings.TrimSuffix(calling("Read", arguments{"file_path": "1.png"}), "<|call|>") + nextMessage +
			strings.TrimPrefix(calling("Read", arguments{"file_path": "2.png"}), thought))}, says: "Request too large", asks: 2,
		prepare: func(t *testing.T, c *claudeCell) {
			c.put(t, "1.png", noise(170))
			c.put(t, "2.png", noise(171))
		}},
	{title: "a form of the answer that servers cannot be held to, in a hook", model: freeModel, acts: stopping,
		says: hookStops, asks: 2, prepare: func(t *testing.T, c *claudeCell) { c.hook(t) }},
	{title: "a body that is larger than Envoy holds", host: "envoy", narrow: true, acts: answered,
		says: "Request too large", asks: 1},

	// What a chat server does not take.
	// With the tool's result the model gets a message of the user, which has the picture until Claude Code leaves it out.
	{title: "a chat server that takes no pictures", model: noImages, acts: []act{
		asked(calling("Read", arguments{"file_path": "picture.png"})),
		{seen: "functions.Read to=assistant", says: saying(done)}}, says: done, asks: 4,
		prepare: func(t *testing.T, c *claudeCell) { c.put(t, "picture.png", picture()) }},
	{title: "a chat server that takes no effort", model: noEffort, acts: answered, says: done, asks: 2},
	{title: "a chat server that takes no form of the answer, in a hook", model: noFormat, acts: stopping, says: hookStops,
		asks: 2, prepare: func(t *testing.T, c *claudeCell) { c.hook(t) }},
	{title: "a chat server that takes no later system messages", model: noSystem, acts: answered, says: done, asks: 2},

	// What the server answers.
	{title: "a server that does not run", model: absentModel, acts: answered, says: "API Error", asks: 3},
	{title: "a server that answers 400", acts: answered, fault: "status:400", says: "API Error", asks: 6},
	{title: "a server that answers 401 to the gateway's key", acts: answered, fault: "status:401", says: "API Error",
		asks: 3},
	{title: "a server that answers 403 to the gateway's key", acts: answered, fault: "status:403", says: "API Error",
		asks: 3},
	{title: "a server that answers 404", acts: answered, fault: "status:404", says: "API Error", asks: 3},
	{title: "a server that answers 413", acts: answered, fault: "status:413", says: "Request too large", asks: 1},
	{title: "a server that answers 422", acts: answered, fault: "status:422", says: "API Error", asks: 6},
	{title: "a server that answers 429, `retry-after: 1`", acts: answered, fault: "status:429:1", says: "API Error",
		asks: 3},
	{title: "a server that answers 500", acts: answered, fault: "status:500", says: "API Error", asks: 3},
	{title: "a server that answers 503", acts: answered, fault: "status:503", says: "API Error", asks: 3},
	{title: "a server that answers 529", acts: answered, fault: "status:529", says: "API Error", asks: 3},
	{title: "a server that is silent before its headers", acts: answered, fault: "mute", says: "API Error", asks: 3},
	{title: "a server that is silent before its first token", acts: answered, fault: "stall:0", says: "API Error",
		asks: 3},
	{title: "a server that is silent within each answer", acts: answered, fault: "stall:12", says: "API Error", asks: 3},
	{title: "an error within each answer", acts: answered, fault: "error-event:12", says: "API Error", asks: 4},

	// How answers end.
	{title: "answers that end at `max_tokens`", acts: []act{asked(unended(60))}, finish: "length", says: "API Error",
		asks:        4,
		environment: []string{"CLAUDE_CODE_MAX_OUTPUT_TOKENS=2000"}},
	{title: "an answer that fills the model's context", model: smallModel, acts: []act{asked(unended(12_000))},
		says: "Prompt is too long", asks: 5},
	{title: "answers that a filter withholds", model: filterModel, acts: []act{asked(unended(60))},
		finish: "content_filter",
		says:   "API Error", asks: 2},
	{title: "answers of reasoning only", acts: []act{asked("<|channel|>analysis<|message|>One step.<|return|>")},
		says: nothing,
		asks: 2},
}

// failureLines are the lines of all rows.
func failureLines(t *testing.T) (lines []sim.Line) {
	t.Helper()
	for i, f := range claudeFailures {
		fault, err := sim.ParseFault(f.fault)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range actLines(cellTag(0, i), f.acts) {
			line.Fault, line.Finish = &fault, f.finish
			lines = append(lines, line)
		}
	}
	return lines
}
