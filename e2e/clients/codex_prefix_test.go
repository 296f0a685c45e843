//go:build e2e

package clients

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/sim"
)

// The session of a day has four questions. In the first an MCP server starts late and is asked, in the second a file is
// patched, and before the last the conversation is compacted.
const (
	questions       = 4
	clockQuestion   = 1
	patchQuestion   = 2
	compactQuestion = 4
)

// wholeDay is how many prompts a day has at least.
const wholeDay = 40

// dayTag is the text by which the server knows the prompts of a name's session.
func dayTag(n int) string { return fmt.Sprintf("Day %d:", n) }

// dayActs are what the model does in a session, with so many commands for each question.
func dayActs(n *codexName, commands int) (acts []act) {
	for q := 1; q <= questions; q++ {
		begins := fmt.Sprintf("TAG question %d", q)
		for i := 1; i <= commands; i++ {
			ends := fmt.Sprintf("TAG done %d-%d", q, i)
			command := n.hands.command("echo " + ends)
			acts = append(acts, after(begins, command))
			if q != clockQuestion { // the MCP server has started again, and is not needed: the model goes on
				acts = append(acts, act{seen: begins, after: "mcp__time\n</tools>", says: command})
			}
			begins = ends
		}
		switch q {
		case clockQuestion:
			clock := n.hands.clock()
			clock[0].after = begins
			acts, begins = append(acts, clock...), "+09:00"
		case patchQuestion:
			acts, begins = append(acts, after(begins, n.hands.patch(listPatch))), "Success"
		}
		acts = append(acts, act{after: begins, says: saying(fmt.Sprintf("Answer %d.", q))})
	}
	return append(acts, summaries...)
}

// TestCodexKept lets Codex work for a day under each name, and compares each prompt with the next: what the server can
// have in its cache. Without HARMONY_CODEX it is a short day under one name. -update writes the page's table.
func TestCodexKept(t *testing.T) {
	besideAnother(t)
	names, commands := codexNames, 9
	if !wholeCodexTable() {
		names, commands = []*codexName{nameTitled("gpt-oss-120b, no catalog")}, 1
	}
	room := startCodexRoom(t, "wazero", func() *sim.Script {
		var lines []sim.Line
		for n, name := range names {
			lines = append(lines, actLines(dayTag(n), dayActs(name, commands))...)
		}
		return sim.NewScript(lines...)
	})
	table := "| name | prompts | tokens | kept | reasoning | tools | compaction |\n|---|---|---|---|---|---|---|\n"
	for n, name := range names {
		c := &codexCell{name: name, tag: dayTag(n), room: room, url: room.url, codex: newCodex(t, room.url, name.model)}
		name.configure(t, c.codex, c.url)
		kept := comparePrompts(c.day(t), whyLost)
		t.Logf("%s: %+v", name.title, kept)
		// Each start of Codex may find an MCP server that is not there yet.
		if kept.times[lostOther] > 0 || kept.times[lostReasoning] > questions-1 || kept.times[lostCompaction] == 0 ||
			kept.times[lostCompaction] > 2 || kept.times[lostTools] > 2*questions {
			t.Errorf("%s: %+v", name.title, kept)
		}
		if wholeCodexTable() && kept.prompts < wholeDay {
			t.Errorf("%s: %d prompts, want %d", name.title, kept.prompts, wholeDay)
		}
		table += kept.row(name.title, lostReasoning, lostTools, lostCompaction)
	}
	if *lab.Update && wholeCodexTable() {
		codexTable().compareTable(t, "kept", table)
	}
}

// day plays the session and returns its requests for answers.
func (c *codexCell) day(t *testing.T) (requests []sim.Request) {
	lateClock(t, c.codex)
	c.put(t, "list.txt", []byte("one\ntwo\n"))
	for q := 1; q <= questions; q++ {
		var args []string
		if q == compactQuestion {
			limit := len(requests[len(requests)-1].PromptIDs) - 100
			args = append(args, "-c", fmt.Sprintf("model_auto_compact_token_limit=%d", limit))
		}
		if q > 1 {
			args = append(args, "resume", "--last")
		}
		done := takeCore()
		turn := c.codex.run(t, append(args, fmt.Sprintf("%s question %d", c.tag, q))...)
		done()
		if wrong := turn.ended(fmt.Sprintf("Answer %d.", q)); wrong != "" {
			t.Errorf("%s, question %d: %s\n%s", c.name.title, q, wrong, turn.said)
		}
		requests = nil
		for _, r := range lab.Completions(c.room.server) {
			if strings.Contains(lab.Vocabulary.DecodeString(r.PromptIDs), c.tag) {
				requests = append(requests, r)
			}
		}
		// The next question finds an MCP server that is there.
		if err := os.WriteFile(c.codex.folder+"/go", nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return requests
}

// keptTokens are how much of its prompts a session's next prompts begin with.
type keptTokens struct {
	prompts, tokens int
	lost, times     map[string]int // tokens that the next prompt does not begin with, and how often, by reasons
}

// Why a prompt does not begin with the one before it.
const (
	lostReasoning  = "reasoning"
	lostTools      = "tools"
	lostCompaction = "compaction"
	lostOther      = "other"
)

// comparePrompts compares each prompt of a session with the next. why says why a prompt goes on otherwise from a token on.
func comparePrompts(requests []sim.Request, why func(prompt, next []uint32, at int) string) keptTokens {
	k := keptTokens{prompts: len(requests), lost: map[string]int{}, times: map[string]int{}}
	for i := 1; i < len(requests); i++ {
		before, next := requests[i-1].PromptIDs, requests[i].PromptIDs
		k.tokens += len(before)
		same := 0
		for same < min(len(before), len(next)) && before[same] == next[same] {
			same++
		}
		if lost := len(before) - same; lost > begunTokens {
			reason := why(before, next, same)
			k.lost[reason] += lost
			k.times[reason]++
		}
	}
	return k
}

// begunTokens is how many tokens begin the model's answer at the end of each prompt, <|start|>assistant. Where another
// message follows, they are not in the next prompt.
const begunTokens = 2

// whyLost returns why a prompt goes on otherwise than the next one from a token on.
func whyLost(prompt, next []uint32, at int) string {
	begun, text := lab.Vocabulary.DecodeString(prompt[:at]), lab.Vocabulary.DecodeString(prompt)
	message, then := text[max(0, strings.LastIndex(begun, "<|start|>")):], lab.Vocabulary.DecodeString(next)
	switch {
	// Codex asks for a summary without its tools.
	case strings.Contains(then, "CONTEXT CHECKPOINT"), strings.Contains(then, "about to be removed"),
		!strings.Contains(text, summary) && strings.Contains(then, summary):
		return lostCompaction
	case strings.HasPrefix(message, "<|start|>developer"):
		return lostTools
	case strings.HasPrefix(message, "<|start|>assistant<|channel|>analysis"):
		return lostReasoning
	default:
		return lostOther
	}
}

// row is the session's row of the page's table, with what was lost by these reasons.
func (k *keptTokens) row(title string, reasons ...string) string {
	lost := 0
	row := fmt.Sprintf("| %s | %d | %d |", title, k.prompts, k.tokens)
	cells := ""
	for _, why := range reasons {
		lost += k.lost[why]
		cells += fmt.Sprintf(" %d (%d times) |", k.lost[why], k.times[why])
	}
	return row + fmt.Sprintf(" %.1f %% |%s\n", 100*float64(k.tokens-lost)/float64(max(1, k.tokens)), cells)
}
