package main

import (
	"fmt"
	"io"

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

func (s *sums) mean(sum int) float64 { return float64(sum) / float64(max(s.turns, 1)) }

// show is empty if there are no turns.
func (s *sums) show(sum int) string {
	if s.turns == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", s.mean(sum))
}

func (s *sums) ratio() float64 { return float64(s.recomputed) / float64(max(s.added, 1)) }

// lost is empty where the engine's own front end was asked: the prompt is not known.
func (s *sums) lost() string {
	if s.had == 0 {
		return ""
	}
	return s.show(s.had - s.kept)
}

func write(out io.Writer, all []measured) {
	fmt.Fprint(out, pageHead)
	writeGoal(out, all)
	fmt.Fprint(out, columns)
	for _, m := range all {
		version := ""
		if m.Version != "" {
			version = "Version " + m.Version + ". "
		}
		fmt.Fprintf(out, "## %s\n\n%s\n\n%sOn %s, %s.\n\n", m.Engine, m.engine.about, version, m.Date, m.Machine)
		writeLoops(out, &m, false)
	}
	fmt.Fprint(out, oddHead)
	for _, m := range all {
		if m.engine.odd {
			fmt.Fprintf(out, "%s:\n\n", m.Engine)
			writeLoops(out, &m, true)
		}
	}
}

const pageHead = `# What agents' turns make engines compute again

` + "`make agent-loops`" + ` has written this page. A scripted gpt-oss plays an agent's loops of up to 43 turns on real
engines, through Envoy with the filter, and through the engine's own front end. In most turns it reasons and calls a
function with arguments of about 240 ids. The result has about 520. After the turns 13, 25 and 36 it has answered, and a
user asks something else.

![Ids computed in a turn of Chat after a call](agent-loops.svg)

The bars are the ids of a prompt that an engine computed for Chat, in the mean of all turns after a call. "template" and
"sampled" are the setting [` + "`history.calls`" + `](../requests.md#past-calls). The dashed line is at the ids that were new.

`

const columns = `## The tables

- **Asked**: the API, and how the client keeps the conversation. "chat" sends back messages with their reasoning,
  "responses" sends back items with sealed reasoning, and "stored" sends ` + "`previous_response_id`" + `. With "ids" the client
  also sends back token ids: ` + "`generation_token_ids`" + ` in Chat, ` + "`sampled_ids`" + ` in Responses
  ([how](../token-ids.md#turns-as-the-model-wrote-them)).
- **History**: the setting ` + "`history.calls`" + `. "–" is the engine's own front end, without the gateway.
- **New**: ids of a prompt that were neither in the last prompt nor written by the model.
- **To 10**, **all**: ids of a prompt that the engine computed, in the turns 2 to 10 and in all turns. What it found in
  its cache does not count. Turns after an answer are not among them.
- **÷**: the same divided by what was new.
- **Lost**: ids that the engine has in its cache and cannot use. They are the last prompt and what the model wrote, from
  the first id on that differs in the next prompt.
- **After**: ids of a prompt that the engine computed in a turn after an answer. Harmony leaves the reasoning before an
  answer out of later prompts. So the engine computes all turns since the last question again, whatever the gateway
  does.

All but "÷" are means of a turn. The counts are the engines' own. Each is also compared with what the client was told.

`

const oddHead = `## The model's own spelling

A model can write a text in other tokens than the encoder would choose. Here it does so in every turn: reasoning and
arguments end in two spaces, which it writes as two tokens, and the encoder has one for both. Only ids keep such a
spelling.

- Stored chains keep the ids of whole turns.
- Sealed reasoning has the ids of the reasoning. Only the end of a call is lost.
- A client of Chat that sends back texts loses everything from the end of the reasoning on.
- A client that sends back ids, in either API, loses nothing.
- llama.cpp [does not send all ids](../llamacpp.md#how-its-answers-are-read), so before it every client loses as much as
  that client of Chat.

`

// shown returns what the page calls a loop.
func (l *loop) shown() (asked, history string) {
	switch l.asked {
	case askedOwnChat:
		return askedChat, "–"
	case askedOwnOpenly:
		return askedSealed, "–"
	}
	return l.asked, l.history
}

// writeLoops writes the table of an engine's loops, with odd spellings or without.
func writeLoops(out io.Writer, m *measured, odd bool) {
	var rows [][]string
	for _, p := range m.Loops {
		if p.loop.odd != odd {
			continue
		}
		asked, history := p.loop.shown()
		first, all, after := sumOf(p.Turns[:min(few-1, len(p.Turns))], false), sumOf(p.Turns, false), sumOf(p.Turns, true)
		rows = append(rows, []string{asked, history, fmt.Sprint(len(p.Turns) + 1), all.show(all.added),
			first.show(first.recomputed), fmt.Sprintf("%.2f", first.ratio()),
			all.show(all.recomputed), fmt.Sprintf("%.2f", all.ratio()), all.lost(), after.show(after.recomputed)})
	}
	if len(rows) > 0 {
		lab.WriteTable(out, []string{"asked", "history", "turns", "new", "to 10", "÷", "all", "÷", "lost", "after"}, rows)
	}
}

// writeGoal says whether the goal is met.
func writeGoal(out io.Writer, all []measured) {
	fmt.Fprintf(out, "## The goal\n\nWith `history.calls: sampled`, an engine that keeps what the model wrote computes at "+
		"most %.2f × the new ids, in\nall turns after a call:\n\n", mostRecomputed)
	var rows [][]string
	for i := range all {
		for _, odd := range []bool{false, true} {
			if row, found := goalRow(&all[i], odd); found {
				rows = append(rows, row)
			}
		}
	}
	lab.WriteTable(out, append([]string{"computed ÷ new"}, goalColumns...), rows)
}

var goalColumns = []string{askedChat, askedChatIDs, askedSealed, askedSealedIDs, askedStored}

// goalRow returns the figures of an engine, and reports whether it has any.
func goalRow(m *measured, odd bool) (row []string, found bool) {
	row = []string{m.Engine}
	if odd {
		row[0] += ", the model's own spelling"
	}
	for _, column := range goalColumns {
		cell := ""
		for _, p := range m.Loops {
			if p.loop.asked != column || p.loop.odd != odd || p.loop.history != "sampled" || !m.engine.goal {
				continue
			}
			s := sumOf(p.Turns, false)
			cell, found = fmt.Sprintf("%.3f", s.ratio()), true
			if s.ratio() > mostRecomputed {
				cell += ", not met"
			}
		}
		row = append(row, cell)
	}
	return row, found
}
