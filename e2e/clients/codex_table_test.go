//go:build e2e

package clients

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sim"
)

// codexCell is a step under a name, at a gateway.
type codexCell struct {
	n, s  int // their places
	name  *codexName
	step  *codexStep
	tag   string // stands in the prompts of the cell, and of no other
	codex *codex
	room  *codexRoom
	url   string
}

// codexRoom is a gateway with a store, and what stands before it.
type codexRoom struct {
	*codexFront
	server         *sim.Server
	url            string
	host, upstream string // where the gateway runs, and what it takes for its server
}

// codexRoomConfig is the configuration of the gateway.
const codexRoomConfig = `
stall_timeout: 10m
responses_service: { store: %q, listen: %q }
models:
  - name: ` + lab.Model + `
    aliases: [gpt-5.5, gpt-6.2-sol, codex-auto-review]
    servers: [vllm=%s]
` + droppedPictures

const droppedPictures = "    unsupported_content: drop\n"

func startCodexRoom(t *testing.T, host string, script func() *sim.Script) *codexRoom {
	t.Helper()
	front, server, upstream := startCodexFront(t, script, stepsOf(func(s int) string { return codexSteps[s].title }))
	room := &codexRoom{codexFront: front, server: server, host: host, upstream: upstream}
	room.url = room.gateway(t, codexRoomConfig)
	return room
}

// gateway starts a gateway in the room.
func (r *codexRoom) gateway(t *testing.T, config string) (url string) {
	t.Helper()
	file := lab.WriteConfig(t, fmt.Sprintf(config, filepath.Join(t.TempDir(), "responses.db"), lab.FreeAddress(t),
		r.upstream))
	keys := []string{contract.SealKeysVariable + "=" + lab.SealKey}
	_, url = lab.StartUpWith(t, keys, "--host", r.host, "--config", file)
	return url
}

// tagPattern finds the tag of a cell in a prompt.
var tagPattern = regexp.MustCompile(`Task (\d)-(\d\d):`)

// cellTag is the text by which the server knows the prompts of a cell.
func cellTag(n, s int) string { return fmt.Sprintf("Task %d-%02d:", n, s) }

// stepsOf finds the title of a prompt's step, and its cell's tag. titleOf has the titles of all steps.
func stepsOf(titleOf func(step int) string) func(prompt string) (title, tag string) {
	return func(prompt string) (title, tag string) {
		m := tagPattern.FindStringSubmatch(prompt)
		if m == nil {
			return "", ""
		}
		s, _ := strconv.Atoi(m[2])
		return titleOf(s), m[0]
	}
}

// codexScript is what the model says in all cells.
func codexScript() *sim.Script {
	var lines []sim.Line
	for n, name := range codexNames {
		for s, step := range codexSteps {
			lines = append(lines, actLines(cellTag(n, s), step.acts(name))...)
		}
	}
	return sim.NewScript(lines...)
}

// actLines are the lines of a script by which a model acts in prompts with a tag. The last act that fits wins.
func actLines(tag string, acts []act) (lines []sim.Line) {
	in := strings.NewReplacer("TAG", tag)
	for i := range acts {
		a := acts[len(acts)-1-i]
		lines = append(lines, sim.Line{Match: in.Replace(cmp.Or(a.seen, tag)), Last: in.Replace(a.after),
			Tokens: lab.Tokens(in.Replace(a.says))})
	}
	return lines
}

// wholeCodexTable reports whether everything is to be tried.
func wholeCodexTable() bool { return os.Getenv("HARMONY_CODEX") != "" }

// quietTime is how long a server is quiet before its first token: HARMONY_CODEX or HARMONY_CLAUDE, or a few seconds.
func quietTime() time.Duration {
	if d, err := time.ParseDuration(cmp.Or(os.Getenv("HARMONY_CODEX"), os.Getenv("HARMONY_CLAUDE"))); err == nil {
		return d
	}
	return 3 * time.Second
}

// quietArguments make Codex wait for a shorter time than that. Of itself it waits for 5 minutes, and its own provider
// has no other time.
func quietArguments(n *codexName) []string {
	if quietTime() > 5*time.Minute || n.builtIn {
		return nil
	}
	return []string{"-c", "model_providers.gateway.stream_idle_timeout_ms=1000"}
}

// log writes what Codex has said.
func (c *codexCell) log(t *testing.T, turn codexTurn) { t.Logf("%s\n%s", turn.took, turn.said) }

// TestCodexTable holds docs/codex.md against what a user sees of each step under each name. Without HARMONY_CODEX it
// takes one name for each step, of those under which the page says that it works, on one host. With it, everything is
// tried, and -update writes the page.
func TestCodexTable(t *testing.T) {
	besideAnother(t)
	page := codexTable().read(t)
	t.Run("hosts", func(t *testing.T) {
		for h, host := range clientHosts {
			t.Run(host, func(t *testing.T) {
				t.Parallel()
				room := startCodexRoom(t, host, codexScript)
				t.Run("cells", func(t *testing.T) {
					for _, c := range codexCells() {
						if !page.chosen(c.n, c.s, h) {
							continue
						}
						t.Run(c.name.title+"/"+c.step.title, func(t *testing.T) {
							t.Parallel()
							wrong := c.play(t, room)
							t.Log("wrong: " + wrong)
							page.note(c.n, c.s, h, wrong)
						})
					}
				})
			})
		}
	})
	page.compare(t)
}

// besideAnother lets a test of the whole page run beside the other one: a quiet server takes minutes and no processor.
func besideAnother(t *testing.T) {
	if wholeCodexTable() {
		t.Parallel()
	}
}

// codexTable is the table of the page.
func codexTable() *stepTable {
	table := &stepTable{page: "docs/codex.md", command: codexCommand, whole: wholeCodexTable(),
		has: func(n, s int) bool { return codexSteps[s].acts(codexNames[n]) != nil }}
	for _, name := range codexNames {
		table.names = append(table.names, name.title)
	}
	for _, step := range codexSteps {
		table.steps = append(table.steps, step.title)
	}
	return table
}

// codexCommand writes the page's tables.
const codexCommand = "make test-codex ARGS=-update"

// codexCells are all cells of the table that a name has.
func codexCells() (all []*codexCell) {
	for n, name := range codexNames {
		for s, step := range codexSteps {
			if step.acts(name) != nil {
				all = append(all, &codexCell{n: n, s: s, name: name, step: step, tag: cellTag(n, s)})
			}
		}
	}
	return all
}

// busyCores has a place for each Codex that works at once. One that waits for a quiet server needs none.
var busyCores = make(chan struct{}, 2)

// takeCore waits for a place, and returns what gives it back.
func takeCore() func() {
	busyCores <- struct{}{}
	return func() { <-busyCores }
}

// play lets Codex do the step at a gateway, and returns what is wrong with what the user sees.
func (c codexCell) play(t *testing.T, room *codexRoom) string {
	c.room, c.url = room, room.url
	if c.step.title != quietStep {
		defer takeCore()()
	}
	c.codex = newCodex(t, c.url, c.name.model)
	c.codex.limit = time.Minute + 2*quietTime()
	c.name.configure(t, c.codex, c.url)
	return c.step.play(t, &c)
}
