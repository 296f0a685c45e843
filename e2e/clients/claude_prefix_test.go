//go:build e2e

package clients

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// claudeDay is what the model does in a session, with so many commands for each question. In the first question it also
// searches for a tool of an MCP server, in the second it edits a file, and before the last the user says /compact.
func claudeDay(commands int) (acts []act) {
	for q := 1; q <= questions; q++ {
		question, begins := fmt.Sprintf("TAG question %d", q), ""
		for i := 1; i <= commands; i++ {
			ends := fmt.Sprintf("TAG done %d-%d", q, i)
			acts = append(acts, act{seen: question, after: begins, says: command("echo " + ends)})
			begins = ends
		}
		switch q {
		case clockQuestion:
			search := found("mcp__time__get_current_time", arguments{"timezone": "Asia/Tokyo"})
			search[0], begins = after(begins, search[0].says), "+09:00"
			acts = append(acts, search...)
		case patchQuestion:
			acts = append(acts, after(begins, calling("Read", arguments{"file_path": "list.txt"})),
				after("\tone", calling("Edit", arguments{"file_path": "list.txt", "old_string": "two", "new_string": "TWO"})))
			begins = "has been updated"
		}
		acts = append(acts, act{seen: question, after: begins, says: saying(fmt.Sprintf("Answer %d.", q))})
	}
	return append(acts, summarized()[1])
}

// claudeDays are the days of all names, or without HARMONY_CLAUDE a short day of one.
func claudeDays(t *testing.T) (days []playedDay) {
	names, commands := claudeNames, 9
	if !wholeClaudeTable() {
		names, commands = claudeNames[:1], 1
	}
	room := startClaudeRoom(t, "wazero", func() *sim.Script {
		var lines []sim.Line
		for n := range names {
			lines = append(lines, actLines(dayTag(n), claudeDay(commands))...)
		}
		return sim.NewScript(lines...)
	})
	for n, name := range names {
		asked := record(t, room.url, "/v1/messages")
		c := &claudeCell{n: n, tag: dayTag(n), room: room, claude: newClaude(t, asked.url, name)}
		day := playedDay{name: name, requests: c.day(t)}
		day.bodies = asked.with(c.tag)
		day.write(t)
		if wholeClaudeTable() && len(day.requests) < wholeDay {
			t.Errorf("%s: %d prompts, want %d", name, len(day.requests), wholeDay)
		}
		days = append(days, day)
	}
	return days
}

// playedDay is a day under a name: what Claude Code asked, and what of that has reached the server.
type playedDay struct {
	name     string
	bodies   [][]byte
	requests []sim.Request
}

// write writes what Claude Code asked into files of the folder HARMONY_CLAUDE_BODIES, if that is set.
func (d *playedDay) write(t *testing.T) {
	t.Helper()
	folder := os.Getenv("HARMONY_CLAUDE_BODIES")
	if folder == "" {
		return
	}
	folder = filepath.Join(folder, d.name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, body := range d.bodies {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%03d.json", i+1)), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestClaudeKept lets Claude Code work for a day under each name, and compares each prompt with the next: what the server
// can have in its cache. Without HARMONY_CLAUDE it is a short day under one name. -update writes the page's table.
func TestClaudeKept(t *testing.T) {
	if wholeClaudeTable() {
		t.Parallel()
	}
	table := "| name | prompts | tokens | kept | reasoning | compaction |\n|---|---|---|---|---|---|\n"
	for _, day := range claudeDays(t) {
		kept := comparePrompts(day.requests, whyLost)
		t.Logf("%s: %+v", day.name, kept)
		if kept.times[lostOther] > 0 || kept.times[lostTools] > 0 || kept.times[lostReasoning] > questions ||
			kept.times[lostCompaction] != 1 {
			t.Errorf("%s: %+v", day.name, kept)
		}
		table += kept.row(day.name, lostReasoning, lostCompaction)
	}
	if *lab.Update && wholeClaudeTable() {
		claudeTable().compareTable(t, "kept", table)
	}
}

// day plays the session and returns its requests for answers.
func (c *claudeCell) day(t *testing.T) (requests []sim.Request) {
	c.put(t, "list.txt", []byte("one\ntwo\n"))
	mcp := []string{"--strict-mcp-config", "--mcp-config", clock(t)}
	var before claudeTurn
	for q := 1; q <= questions; q++ {
		args := mcp
		if q > 1 {
			args = append(args[:len(args):len(args)], "--resume", before.session)
		}
		done := takeCore()
		if q == compactQuestion {
			if turn := c.claude.run(t, append(args, "/compact")...); len(turn.compacted) != 1 {
				t.Errorf("nothing is compacted\n%s", turn.said)
			}
		}
		before = c.claude.run(t, append(args, fmt.Sprintf("%s question %d", c.tag, q))...)
		done()
		if wrong := before.ended(fmt.Sprintf("Answer %d.", q)); wrong != "" {
			t.Fatalf("question %d: %s\n%s", q, wrong, before.said)
		}
	}
	for _, r := range lab.Completions(c.room.server) {
		if strings.Contains(lab.Vocabulary.DecodeString(r.PromptIDs), c.tag) {
			requests = append(requests, r)
		}
	}
	return requests
}
