//go:build e2e

package clients

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// codexStep is a row of the table.
type codexStep struct {
	title string
	// acts are what the model does. Where there are none, the name has no such thing.
	acts func(n *codexName) []act
	// play lets Codex do it, and returns what is wrong with what the user sees.
	play func(t *testing.T, c *codexCell) string
}

// The steps for which the server is another one.
const (
	overloadedStep = "an overloaded server"
	quietStep      = "a quiet prefill"
	cutStep        = "a server that ends within an answer"
)

// done is how each step ends.
const done = "That is done."

var codexSteps = []*codexStep{
	{"two commands", func(n *codexName) []act {
		return []act{first(n.hands.command("printf 'two %s' words >note.txt; wc -c note.txt")),
			after("9 note.txt", n.hands.command("tr a-z A-Z <note.txt")), after("TWO WORDS", saying(done))}
	}, func(t *testing.T, c *codexCell) string {
		return either(c.ask(t), c.file("note.txt", "two words"))
	}},
	{"a patch", func(n *codexName) []act {
		return []act{first(n.hands.patch(listPatch)), after("Success", saying(done))}
	}, func(t *testing.T, c *codexCell) string {
		c.put(t, "list.txt", []byte("one\ntwo\n"))
		return either(c.ask(t), c.file("list.txt", "one\nTWO\n"), c.file("new.txt", "new\n"))
	}},
	{"an MCP server that starts late", func(n *codexName) []act {
		return append(n.hands.clock(), after("+09:00", saying(done)))
	}, func(t *testing.T, c *codexCell) string {
		lateClock(t, c.codex)
		return c.ask(t)
	}},
	{"a sub-agent", func(n *codexName) []act {
		if acts := n.hands.spawn(); acts != nil {
			return append(acts, after(childTask, saying(childAnswer)), after(childAnswer, saying(done)))
		}
		return nil
	}, func(t *testing.T, c *codexCell) string { return c.ask(t) }},
	{"a session that goes on under another model", func(n *codexName) []act {
		return []act{first(n.hands.command("echo first")), after("first", saying("One.")),
			after("TAG"+again, n.other().hands.command("echo twice")), after("twice", saying(done))}
	}, func(t *testing.T, c *codexCell) string {
		if turn := c.codex.run(t, c.task()); turn.last() != "One." {
			return "before: " + turn.ended("One.")
		}
		c.name.other().configure(t, c.codex, c.url)
		turn := c.codex.run(t, "resume", "--last", c.tag+again)
		c.log(t, turn)
		return turn.ended(done)
	}},
	{"its own compaction", func(n *codexName) []act {
		if n.builtIn {
			return nil
		}
		return compactedActs
	}, func(t *testing.T, c *codexCell) string { return c.compact(t) }},
	{"a remote compaction", func(*codexName) []act { return compactedActs }, func(t *testing.T, c *codexCell) string {
		remote := *c.name
		remote.builtIn = true
		remote.configure(t, c.codex, c.url)
		return c.compact(t)
	}},
	{"a picture", func(n *codexName) []act {
		return []act{first(n.hands.picture("picture.png")), after("to=assistant", saying(done))}
	}, func(t *testing.T, c *codexCell) string {
		c.put(t, "picture.png", picture())
		return c.ask(t, "-i", "picture.png", "--")
	}},
	{"a picture that is refused", oneAnswer, func(t *testing.T, c *codexCell) string {
		c.put(t, "picture.png", picture())
		c.name.configure(t, c.codex, c.room.gateway(t, strings.TrimSuffix(codexRoomConfig, droppedPictures)))
		turn := c.codex.run(t, "-i", "picture.png", "--", c.task())
		c.log(t, turn)
		if !strings.Contains(turn.failed, `"code":"unsupported_parameter"`) || c.room.asked(c.tag) > 0 {
			return "the turn does not say why it fails: " + either(turn.failed, turn.last())
		}
		return ""
	}},
	{overloadedStep, oneAnswer, func(t *testing.T, c *codexCell) string {
		wrong := c.ask(t)
		if n := c.room.asked(c.tag); wrong == "" && n > 8 {
			wrong = fmt.Sprintf("%d requests", n)
		}
		return wrong
	}},
	{quietStep, oneAnswer, func(t *testing.T, c *codexCell) string {
		return c.ask(t, quietArguments(c.name)...)
	}},
}

// oneAnswer are the acts of a model that only answers.
func oneAnswer(*codexName) []act { return oneAnswerOf(done) }

func oneAnswerOf(text string) []act { return []act{first(saying(text))} }

// again is what the user asks at last, behind the cell's tag.
const again = " Go on, please."

// summary is what the model writes of a conversation, behind the cell's tag.
const summary = " the word was pear."

// summaries are what a model writes that is asked for a summary by Codex or by the gateway.
var summaries = []act{
	after("CONTEXT CHECKPOINT", saying("TAG"+summary)), after("about to be removed", saying("TAG"+summary)),
}

// compactedActs are what a model says whose conversation is compacted between two questions.
var compactedActs = slices.Concat(oneAnswerOf("One."), []act{{seen: "TAG" + summary, says: saying(done)}}, summaries)

// compact lets Codex work beyond its limit, and then go on.
func (c *codexCell) compact(t *testing.T) string {
	limit := []string{"-c", "model_auto_compact_token_limit=500"}
	turn := c.codex.run(t, append(limit, c.task())...)
	c.log(t, turn)
	if wrong := turn.ended("One."); wrong != "" {
		return wrong
	}
	turn = c.codex.run(t, append(limit, "resume", "--last", c.tag+again)...)
	c.log(t, turn)
	return turn.ended(done)
}

// lateClock configures the MCP server of times, which starts when there is a file go.
func lateClock(t *testing.T, c *codex) {
	t.Helper()
	script := lab.WriteScript(t, c.home, "time",
		`while [ ! -e "$GO" ]; do sleep 0.05; done; exec "$PYTHON" -m mcp_server_time`)
	c.tables(t, fmt.Sprintf("[mcp_servers.time]\ncommand = %q\nenv = { GO = %q, PYTHON = %q }\n", script,
		filepath.Join(c.folder, "go"), lab.Tool(t, "HARMONY_MCP_PYTHON")))
}

const listPatch = `*** Begin Patch
*** Add File: new.txt
+new
*** Update File: list.txt
@@
 one
-two
+TWO
*** End Patch
`

// either returns the first text that is not empty.
func either(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// picture is a PNG of one pixel.
func picture() []byte {
	var out bytes.Buffer
	_ = png.Encode(&out, image.NewGray(image.Rect(0, 0, 1, 1))) // into memory
	return out.Bytes()
}

// task is what the user asks.
func (c *codexCell) task() string { return c.tag + " Please do the task." }

// ask lets Codex work on the cell's task, which ends with done.
func (c *codexCell) ask(t *testing.T, args ...string) string {
	turn := c.codex.run(t, append(args, c.task())...)
	c.log(t, turn)
	return turn.ended(done)
}

// put writes a file into Codex's folder.
func (c *codexCell) put(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.codex.folder, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// file says what is wrong with a file in Codex's folder.
func (c *codexCell) file(name, want string) string {
	if got, err := os.ReadFile(filepath.Join(c.codex.folder, name)); err != nil || string(got) != want {
		return fmt.Sprintf("%s is %q", name, got)
	}
	return ""
}
