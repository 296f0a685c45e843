//go:build e2e

package clients

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/e2e/toolservers"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// claudeStep is a row of the table.
type claudeStep struct {
	title string
	// acts are what the model does.
	acts []act
	// play lets Claude Code do it, and returns what is wrong with what the user sees.
	play func(t *testing.T, c *claudeCell) string
	// long is a step that is tried with the whole table only.
	long bool
	// only are the names that have the step. Nil are all.
	only []string
}

// asked is the first act. It is for each prompt of the cell for which no other act is: Claude Code adds a system message
// behind the question.
func asked(says string) act { return act{seen: "TAG Please do the task.", says: says} }

// command is a call of the tool that runs commands.
func command(text string) string { return calling("Bash", arguments{"command": text}) }

// found are the acts that search for a tool, and call it when the prompt has it. Some names have it from the beginning,
// and under some Claude Code says that the tool is there.
func found(tool string, a arguments) []act {
	call := calling(tool, a)
	return []act{asked(calling("ToolSearch", arguments{"query": "select:" + tool})),
		{seen: "type " + tool + " = (", after: "TAG Please do the task.", says: call},
		after("type "+tool+" = (", call), after("Tool loaded.", call)}
}

// timeTool is a tool of the MCP server of times.
const timeTool = "mcp__time__get_current_time"

// claudeSteps are the rows. Files are named from the folder, which is Claude Code's own.
var claudeSteps = []*claudeStep{
	{title: "two commands", acts: []act{asked(command("printf 'two %s' words >note.txt; wc -c note.txt")),
		after("9 note.txt", command("tr a-z A-Z <note.txt")), after("TWO WORDS", saying(done))}, play: playCommands},
	{title: "a file is read and edited", acts: []act{asked(calling("Read", arguments{"file_path": "list.txt"})),
		after("\tone", calling("Edit", arguments{"file_path": "list.txt", "old_string": "two", "new_string": "TWO"})),
		after("has been updated", calling("Write", arguments{"file_path": "new.txt", "content": "new\n"})),
		after("File created", saying(done))},
		play: func(t *testing.T, c *claudeCell) string {
			c.put(t, "list.txt", []byte("one\ntwo\n"))
			_, wrong := c.ask(t, done)
			return either(wrong, c.file("list.txt", "one\nTWO\n"), c.file("new.txt", "new\n"))
		}},
	{title: "a sub-agent", acts: []act{
		asked(calling("Agent", arguments{"description": "say pear", "prompt": childTask, "subagent_type": "general-purpose",
			"run_in_background": false})),
		{seen: childTask + "<|end|>", says: saying(childAnswer)}, after(childAnswer, saying(done))}, play: playAnswer,
		long: true},
	{title: "a plan", acts: []act{asked(calling("Read", arguments{"file_path": "list.txt"})), after("\tone",
		saying("A plan.")),
		{seen: "TAG" + again, says: calling("Edit", arguments{"file_path": "list.txt", "old_string": "two",
			"new_string": "TWO"})},
		after("has been updated", saying(done))},
		play: func(t *testing.T, c *claudeCell) string {
			c.put(t, "list.txt", []byte("one\ntwo\n"))
			turn, wrong := c.ask(t, "A plan.", "--permission-mode", "plan")
			if wrong != "" {
				return wrong
			}
			_, wrong = c.goOn(t, turn, c.tag+again, done)
			return either(wrong, c.file("list.txt", "one\nTWO\n"))
		}, long: true},
	{title: "a tool of an MCP server, found by a search", acts: append(
		found("mcp__time__get_current_time", arguments{"timezone": "Asia/Tokyo"}), after("+09:00", saying(done))),
		play: func(t *testing.T, c *claudeCell) string {
			_, wrong := c.ask(t, done, "--strict-mcp-config", "--mcp-config", clock(t))
			return wrong
		}, long: true},
	{title: "a tool of an MCP server that `claude mcp add` added", acts: append(
		found(timeTool, arguments{"timezone": "Asia/Tokyo"}),
		// Of a server that connects late a system message tells behind the tool, and names its other tool.
		after("mcp__time__convert_time<|end|>", calling(timeTool, arguments{"timezone": "Asia/Tokyo"})),
		after("+09:00", saying(done))),
		play: func(t *testing.T, c *claudeCell) string {
			python := lab.Tool(t, "HARMONY_MCP_PYTHON")
			if out, err := c.claude.program(t, "mcp", "add", "time", "--", python, "-m", "mcp_server_time").
				CombinedOutput(); err != nil {
				return fmt.Sprintf("claude mcp add: %v: %s", err, out)
			}
			_, wrong := c.ask(t, done)
			return wrong
		}, long: true},
	{title: "a web search that the gateway does not have", acts: append(
		found("WebSearch", arguments{"query": "TAG tea"}), after("functions.WebSearch to=assistant", saying(done))),
		play: playAnswer, long: true},
	{title: "a web search by the gateway's browser", acts: append(found("WebSearch", arguments{"query": "TAG tea"}),
		act{seen: "namespace browser {", after: "TAG tea", says: thought + " to=browser.search" +
			"<|channel|>analysis code<|message|>{\"query\":\"tea\"}<|call|>"},
		after("<|message|>[0] ", saying("TAG tea is a drink.")),
		act{seen: "TAG tea is a drink.", after: "functions.WebSearch to=assistant", says: saying(done)}),
		play: playSearch, long: true},
	{title: "/compact", acts: summarized(asked(saying("One."))),
		play: func(t *testing.T, c *claudeCell) string {
			turn, wrong := c.ask(t, "One.")
			if wrong != "" {
				return "before: " + wrong
			}
			compacted, _ := c.goOn(t, turn, "/compact", "")
			if len(compacted.compacted) != 1 {
				return "nothing is compacted: " + compacted.ended("")
			}
			_, wrong = c.goOn(t, turn, c.tag+again, done)
			return wrong
		}, long: true},
	{title: "its own compaction", acts: summarized(asked(command("seq 1 6000; echo first")),
		after("\nfirst", command("seq 1 6000; echo second")), after("\nsecond", command("seq 1 6000; echo third")),
		after("\nthird", saying("One."))),
		play: func(t *testing.T, c *claudeCell) string {
			c.claude.environment = []string{"CLAUDE_CODE_MAX_CONTEXT_TOKENS=44000", "CLAUDE_CODE_MAX_OUTPUT_TOKENS=2000"}
			turn, wrong := c.ask(t, done)
			if len(turn.compacted) == 0 {
				wrong = either(wrong, "nothing is compacted")
			}
			return wrong
		}, long: true, only: claudeNames[:1]},
	{title: "a session that is resumed", acts: []act{asked(command("echo plum")), after("plum", saying("One.")),
		{seen: "TAG" + again, says: command("echo cherry")}, after("cherry", saying(done))},
		play: func(t *testing.T, c *claudeCell) string {
			turn, wrong := c.ask(t, "One.")
			if wrong != "" {
				return "before: " + wrong
			}
			_, wrong = c.goOn(t, turn, c.tag+again, done)
			return wrong
		}, long: true},
	{title: "an answer by a schema", acts: []act{asked(calling("StructuredOutput", arguments{"city": "Paris"}))},
		play: func(t *testing.T, c *claudeCell) string {
			turn, _ := c.ask(t, "", "--json-schema",
				`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`)
			if turn.structured != `{"city":"Paris"}` {
				return either(turn.ended(`{"city":"Paris"}`), "the object is "+turn.structured)
			}
			return ""
		}, long: true},
	{title: "five efforts", acts: []act{asked(saying(done))}, play: playEfforts, long: true,
		only: []string{lab.Model, "claude-opus-5-5"}},
	{title: "thinking turned off", acts: []act{asked(command("echo plum")), after("plum", saying(done))},
		play: func(t *testing.T, c *claudeCell) string {
			c.claude.environment = []string{"MAX_THINKING_TOKENS=0", "CLAUDE_CODE_DISABLE_THINKING=1"}
			turn, wrong := c.ask(t, done)
			if strings.Contains(turn.said, "One step.") {
				wrong = either(wrong, "reasoning is shown")
			}
			return either(wrong, c.thoughts(1))
		}, long: true},
	{title: "a picture", acts: []act{asked(calling("Read", arguments{"file_path": "picture.png"})),
		after("functions.Read to=assistant", saying(done))},
		play: func(t *testing.T, c *claudeCell) string {
			c.put(t, "picture.png", picture())
			_, wrong := c.ask(t, done)
			return wrong
		}},
	{title: overloadedStep, acts: []act{asked(saying(done))}, play: playAnswer, long: true},
	{title: cutStep, acts: []act{asked(saying(done))}, play: playAnswer, long: true},
	{title: quietStep, acts: []act{asked(saying(done))}, play: playAnswer, long: true},
}

// playAnswer wants the task done.
func playAnswer(t *testing.T, c *claudeCell) string {
	_, wrong := c.ask(t, done)
	return wrong
}

// claudeSearchConfig is the configuration of a gateway with a browser.
const claudeSearchConfig = claudeRoomConfig + `
responses_service:
  store: %q
  listen: %q
  tools:
    servers: [{label: browser, url: %q, transport: sse}]
    browser: browser
`

// playSearch wants the task done at a gateway with a browser, which is asked once.
func playSearch(t *testing.T, c *claudeCell) string {
	browser := toolservers.Browser(t)
	store := filepath.Join(t.TempDir(), "responses.db")
	text := fmt.Sprintf(claudeSearchConfig, c.room.upstream, store, lab.FreeAddress(t), browser.SSE())
	config := lab.WriteConfig(t, text)
	_, c.claude.url = lab.StartUpWith(t, []string{contract.SealKeysVariable + "=" + lab.SealKey}, "--host", c.room.host,
		"--config", config)
	_, wrong := c.ask(t, done)
	if n := len(browser.Calls()); n != 1 {
		wrong = either(wrong, fmt.Sprintf("%d searches", n))
	}
	return wrong
}

// playCommands wants what the commands do, and the reasoning before each call in the next prompt.
func playCommands(t *testing.T, c *claudeCell) string {
	_, wrong := c.ask(t, done)
	return either(wrong, c.file("note.txt", "two words"), c.thoughts(2))
}

// thoughts says what is wrong unless the cell's prompts have 0, 1, … so many messages of reasoning.
func (c *claudeCell) thoughts(most int) string { return thoughtsIn(c.prompts(), most) }

// thoughtsIn says what is wrong unless prompts have 0, 1, … so many messages of reasoning.
func thoughtsIn(prompts []string, most int) string {
	if len(prompts) != most+1 {
		return fmt.Sprintf("%d prompts", len(prompts))
	}
	for i, prompt := range prompts {
		if n := strings.Count(prompt, "<|channel|>analysis<|message|>One step.<|end|>"); n != i {
			return fmt.Sprintf("%d messages of reasoning in prompt %d", n, i+1)
		}
	}
	return ""
}

// playEfforts wants each effort in the prompt.
func playEfforts(t *testing.T, c *claudeCell) string {
	efforts := []string{"low", "medium", "high", "xhigh", "max"}
	for _, effort := range efforts {
		if _, wrong := c.ask(t, done, "--effort", effort); wrong != "" {
			return effort + ": " + wrong
		}
	}
	prompts := c.prompts()
	if len(prompts) != len(efforts) {
		return fmt.Sprintf("%d prompts", len(prompts))
	}
	for i, want := range []string{"low", "medium", "high", "high", "high"} {
		if !strings.Contains(prompts[i], "Reasoning: "+want+"\n") {
			return efforts[i] + " is not " + want
		}
	}
	return ""
}

// summarized are acts of a model whose conversation is compacted.
func summarized(acts ...act) []act {
	return append(acts, act{seen: "TAG" + summary, says: saying(done)},
		after("Respond with TEXT ONLY", saying("<analysis>It is short.</analysis>\n<summary>TAG"+summary+"</summary>")))
}

// clock is a configuration of the MCP server of times.
func clock(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(arguments{"mcpServers": arguments{"time": arguments{
		"command": lab.Tool(t, "HARMONY_MCP_PYTHON"), "args": []string{"-m", "mcp_server_time"}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
