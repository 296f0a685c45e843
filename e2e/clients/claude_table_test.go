//go:build e2e

package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// claudeNames are the columns of the table of docs/claude-code.md. Claude Code does not know the first. The others are in
// its own list of models, which decides what it sends.
var claudeNames = []string{lab.Model, "claude-sonnet-4-5", "claude-opus-5-5"}

// claudeCommand writes the page's tables.
const claudeCommand = "make test-claude ARGS=-update"

// claudeCell is a step under a name, at a gateway.
type claudeCell struct {
	n, s   int // their places
	step   *claudeStep
	tag    string // stands in the prompts of the cell, and of no other
	room   *codexRoom
	claude *claude
}

// claudeRoomConfig is the configuration of the gateway.
const claudeRoomConfig = `
stall_timeout: 10m
models:
  - name: ` + lab.Model + `
    aliases: [claude-sonnet-4-5, claude-opus-5-5]
    servers: [vllm=%s]
    unsupported_content: drop
`

func startClaudeRoom(t *testing.T, host string, script func() *sim.Script) *codexRoom {
	t.Helper()
	front, server, upstream := startCodexFront(t, script, stepsOf(func(s int) string { return claudeSteps[s].title }))
	room := &codexRoom{codexFront: front, server: server, host: host, upstream: upstream}
	config := lab.WriteConfig(t, fmt.Sprintf(claudeRoomConfig, upstream))
	_, room.url = lab.StartUpWith(t, []string{contract.SealKeysVariable + "=" + lab.SealKey}, "--host", host,
		"--config", config)
	return room
}

// claudeScript is what the model says in all cells.
func claudeScript() *sim.Script {
	var lines []sim.Line
	for n := range claudeNames {
		for s, step := range claudeSteps {
			lines = append(lines, actLines(cellTag(n, s), step.acts)...)
		}
	}
	return sim.NewScript(lines...)
}

// wholeClaudeTable reports whether everything is to be tried.
func wholeClaudeTable() bool { return os.Getenv("HARMONY_CLAUDE") != "" }

// claudeTable is the table of the page.
func claudeTable() *stepTable {
	table := &stepTable{page: "docs/claude-code.md", command: claudeCommand, names: claudeNames, whole: wholeClaudeTable(),
		has: func(n, s int) bool {
			only := claudeSteps[s].only
			return only == nil || slices.Contains(only, claudeNames[n])
		}}
	for _, step := range claudeSteps {
		table.steps = append(table.steps, step.title)
	}
	return table
}

// TestClaudeTable holds docs/claude-code.md against what a user of Claude Code sees of each step under each name. Without
// HARMONY_CLAUDE it takes the quick steps, each under one name on one host. With it, everything is tried, and -update
// writes the page.
func TestClaudeTable(t *testing.T) {
	page := claudeTable().read(t)
	t.Run("hosts", func(t *testing.T) {
		for h, host := range clientHosts {
			t.Run(host, func(t *testing.T) {
				t.Parallel()
				room := startClaudeRoom(t, host, claudeScript)
				t.Run("cells", func(t *testing.T) {
					for n, name := range claudeNames {
						for s, step := range claudeSteps {
							if !page.has(n, s) || !page.chosen(n, s, h) || step.long && !page.whole {
								continue
							}
							t.Run(name+"/"+step.title, func(t *testing.T) {
								t.Parallel()
								c := &claudeCell{n: n, s: s, step: step, tag: cellTag(n, s), room: room}
								wrong := c.play(t)
								t.Log("wrong: " + wrong)
								page.note(n, s, h, wrong)
							})
						}
					}
				})
			})
		}
	})
	page.compare(t)
}

// play lets Claude Code do the step, and returns what is wrong with what the user sees.
func (c *claudeCell) play(t *testing.T) string {
	if c.step.title != quietStep {
		defer takeCore()()
	}
	c.claude = newClaude(t, c.room.url, claudeNames[c.n])
	c.claude.limit = time.Minute + 2*quietTime()
	return c.step.play(t, c)
}

// task is what the user asks.
func (c *claudeCell) task() string { return c.tag + " Please do the task." }

// ask lets Claude Code work on the cell's task, and wants a text at its end.
func (c *claudeCell) ask(t *testing.T, text string, args ...string) (turn claudeTurn, wrong string) {
	t.Helper()
	turn = c.claude.run(t, append(args, c.task())...)
	c.log(t, turn)
	return turn, turn.ended(text)
}

// goOn lets it go on in a session.
func (c *claudeCell) goOn(t *testing.T, before claudeTurn, says, text string, args ...string) (turn claudeTurn,
	wrong string) {
	t.Helper()
	turn = c.claude.run(t, append(append(args, "--resume", before.session), says)...)
	c.log(t, turn)
	return turn, turn.ended(text)
}

func (c *claudeCell) log(t *testing.T, turn claudeTurn) { t.Logf("%s\n%s", turn.took, turn.said) }

// prompts are the prompts of the cell that have reached the fast server.
func (c *claudeCell) prompts() (all []string) {
	for _, r := range lab.Completions(c.room.server) {
		if prompt := lab.Vocabulary.DecodeString(r.PromptIDs); strings.Contains(prompt, c.tag) {
			all = append(all, prompt)
		}
	}
	return all
}

// put writes a file into the folder.
func (c *claudeCell) put(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.claude.folder, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// file says what is wrong with a file in the folder.
func (c *claudeCell) file(name, want string) string {
	if got, err := os.ReadFile(filepath.Join(c.claude.folder, name)); err != nil || string(got) != want {
		return fmt.Sprintf("%s is %q", name, got)
	}
	return ""
}
