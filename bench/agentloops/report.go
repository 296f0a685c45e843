package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// few is how many turns the shorter loop has: the first ones of the longer.
const few = 10

// mostRecomputed is the goal: how many ids may be computed, for each that is new.
const mostRecomputed = 1.05

// sums are of some turns of a loop.
type sums struct{ turns, recomputed, added, had, kept int }

func sumOf(turns []outcome, afterAnswer bool) (s sums) {
	for _, o := range turns {
		if o.AfterAnswer != afterAnswer {
			continue
		}
		s.turns++
		s.recomputed += o.recomputed()
		s.added += o.Added
		s.had += o.Had
		s.kept += o.Kept
	}
	return s
}

func (s *sums) mean(sum int) string {
	return fmt.Sprintf("%.0f", float64(sum)/float64(max(s.turns, 1)))
}

func (s *sums) ratio() float64 { return float64(s.recomputed) / float64(max(s.added, 1)) }

// lost returns how many ids of the last prompt and answer are not at the beginning of a prompt, in the mean.
func (s *sums) lost() string {
	if s.had == 0 {
		return ""
	}
	return s.mean(s.had - s.kept)
}

func write(out io.Writer, all []measured) {
	fmt.Fprint(out, pageHead)
	for _, m := range all {
		writeEngine(out, &m)
	}
	writeOdd(out, all)
	writeGoal(out, all)
}

const pageHead = `# What agents' turns make engines compute again

` + "`make agent-loops`" + ` has written this page. A scripted gpt-oss plays loops of up to 43 turns on real engines. In
most turns it reasons, calls a function with arguments of about 240 ids, and gets a result of about 520. After the turns
13, 25 and 36 it has answered, and a user asks something else.

- **Asked**: the API, and how the client keeps the conversation. "chat" sends back messages with their reasoning,
  "responses" sends back items with sealed reasoning, and "stored" sends ` + "`previous_response_id`" + `.
- **History**: the setting ` + "`history.calls`" + `. "–" is the engine's own front end, without the gateway.
- **New**: ids of a prompt that were neither in the last prompt nor sampled by the model, in the mean.
- **Recomputed**: ids of a prompt that the engine did not find in its cache, in the mean and as a sum.
- **÷**: recomputed divided by new.
- **Lost**: ids of the last prompt and answer that come after the first one which the next prompt has otherwise.

The columns "to 10" and "all" have the ids recomputed in the turns 2 to 10 and in all turns, without those after an
answer. These are in the column "after": Harmony leaves the reasoning before an answer out of later prompts, so engines
compute much of such a prompt again, whatever the gateway does. The counts are the engines' own:
each is also compared with what the client was told.

`

func name(l *loop) (asked, history string) {
	switch l.asked {
	case askedOwnChat:
		return askedChat, "–"
	case askedOwnOpenly:
		return askedSealed, "–"
	}
	return l.asked, l.history
}

func writeEngine(out io.Writer, m *measured) {
	fmt.Fprintf(out, "## %s\n\n%s\n\nOn %s, %s.\n\n", strings.TrimSpace(m.Engine+" "+m.Version), m.engine.about, m.Date,
		m.Machine)
	writeLoops(out, m, false)
}

// writeLoops writes the table of an engine's loops, with odd spellings or without.
func writeLoops(out io.Writer, m *measured, odd bool) {
	var rows [][]string
	for _, p := range m.Loops {
		if p.loop.odd != odd {
			continue
		}
		asked, history := name(&p.loop)
		row := []string{asked, history, fmt.Sprint(len(p.Turns) + 1)}
		short, long := sumOf(p.Turns[:min(few-1, len(p.Turns))], false), sumOf(p.Turns, false)
		for _, s := range []sums{short, long} {
			row = append(row, s.mean(s.added), s.mean(s.recomputed), fmt.Sprint(s.recomputed),
				fmt.Sprintf("%.2f", s.ratio()))
		}
		row = append(row, long.lost())
		if after := sumOf(p.Turns, true); after.turns > 0 {
			row = append(row, after.mean(after.added), after.mean(after.recomputed), fmt.Sprintf("%.1f", after.ratio()))
		} else {
			row = append(row, "", "", "")
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		lab.WriteTable(out, []string{"asked", "history", "turns", "new", "to 10", "sum", "÷", "new", "all", "sum", "÷",
			"lost", "new", "after", "÷"}, rows)
	}
}

func writeOdd(out io.Writer, all []measured) {
	fmt.Fprint(out, "## The model's own spelling\n\n"+
		"Here reasoning and arguments end in two spaces, which the model writes as two\n"+
		"tokens. The encoder has one token for both. Only the sampled ids keep them. Sealed reasoning has them. A\n"+
		"chat client has them only if it sends back token ids.\n\n")
	for _, m := range all {
		if slices.ContainsFunc(m.Loops, func(p played) bool { return p.loop.odd }) {
			fmt.Fprintf(out, "%s:\n\n", m.Engine)
			writeLoops(out, &m, true)
		}
	}
}

// writeGoal says whether the goal is met.
func writeGoal(out io.Writer, all []measured) {
	fmt.Fprintf(out, "## Goal\n\nWith `history.calls: sampled`, an engine that keeps what the model wrote computes at most\n"+
		"%.2f × the new ids, in the turns after a call.\n\n", mostRecomputed)
	var rows [][]string
	for _, m := range all {
		for _, p := range m.Loops {
			if !m.engine.goal || p.loop.history != "sampled" {
				continue
			}
			s, verdict := sumOf(p.Turns, false), "met"
			if s.ratio() > mostRecomputed {
				verdict = "not met"
			}
			spelling := ""
			if p.loop.odd {
				spelling = "own spelling"
			}
			rows = append(rows, []string{m.Engine, p.loop.asked, spelling, fmt.Sprintf("%.3f", s.ratio()), verdict})
		}
	}
	lab.WriteTable(out, []string{"engine", "asked", "", "÷ new", ""}, rows)
}
