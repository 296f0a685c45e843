package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/command"
	"github.com/harmonyedge/harmonyedge/bench/stats"
	"github.com/harmonyedge/harmonyedge/e2e/agents"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// target bounds a figure of this build.
type target struct {
	name string
	load string
	// turn is compared; 0 is all of a round.
	turn int
	// against is the variant that the figure is divided by. If it is subtracted instead, added is set.
	against variant
	added   bool
	limit   float64
	// other is the load of against, if it is another one.
	other string
}

// targets are what an agent's turns should cost.
var targets = []target{
	{"session", kept, 0, older, false, 0.22, ""},
	{"session", kept, 0, plain, false, 3.3, ""},
	{"turn 43", kept, 43, plain, false, 4, ""},
	{"session", spread, 0, older, false, 0.5, ""},
	{"session", agents.Chat.String(), 0, older, false, 0.25, ""},
	{"session", agents.Sealed.String(), 0, older, false, 0.25, ""},
	{"session", agents.Messages.String(), 0, this, false, 1.05, kept},
	{"turn 43", agents.Messages.String(), 43, this, false, 1.05, kept},
	{"all", firstTurns, 0, older, false, 0.8, ""},
	{"all", neverAgain, 0, older, false, 0.8, ""},
	{"the worker held by turn 43, ms", kept, 43, plain, true, 1.5, ""},
	{"turn 43", agents.Chat.String(), 43, frontEnd, false, 1.0 / 45, ""},
}

// of returns a turn's figure, or that of all turns.
func (s *sample) of(turn int) float64 {
	if turn == 0 {
		return s.all()
	}
	return s.turns[turn-1]
}

// compare returns this build's figures beside a variant's, round by round.
func (b *bench) compare(t target) []float64 {
	var figures []float64
	mine, others := b.samples[key{t.load, this}], b.samples[key{cmp.Or(t.other, t.load), t.against}]
	for i := range min(len(mine), len(others)) {
		if t.added {
			figures = append(figures, (mine[i].of(t.turn)-others[i].of(t.turn))/1000)
			continue
		}
		figures = append(figures, mine[i].of(t.turn)/others[i].of(t.turn))
	}
	return figures
}

// write writes all tables as Markdown.
func (b *bench) write(out io.Writer) {
	fmt.Fprint(out, "## Targets\n\n")
	var rows [][]string
	for _, t := range targets {
		figures := b.compare(t)
		if len(figures) == 0 {
			continue
		}
		e := stats.Of(figures)
		operation := " ÷ "
		if t.added {
			operation = ", over "
		}
		name := t.load + ": " + t.name + operation + cmp.Or(t.other, string(t.against))
		rows = append(rows, []string{name, "≤ " + stats.Number(t.limit), e.Show(t.added), string(e.Judge(t.limit))})
	}
	lab.WriteTable(out, []string{"CPU of this build", "target", "measured", ""}, rows)
	for _, l := range b.loads {
		b.writeLoad(out, l)
	}
	b.writeMemory(out)
}

// shownTurns are those of a session that a table has.
var shownTurns = []int{1, 10, 20, agents.Turns}

func (b *bench) writeLoad(out io.Writer, l load) {
	var rows [][]string
	head := []string{"variant"}
	for _, v := range []variant{plain, older, this, frontEnd} {
		samples := b.samples[key{l.name, v}]
		if len(samples) == 0 {
			continue
		}
		turns := shownTurns
		if len(samples[0].turns) < agents.Turns {
			turns = nil
		}
		row := []string{string(v)}
		for _, turn := range turns {
			row = append(row, stats.Number(stats.Median(column(samples, func(s *sample) float64 { return s.of(turn) }))))
		}
		row = append(row, stats.Number(stats.Median(column(samples, (*sample).all))/1000))
		beside := ""
		if v != plain {
			beside = stats.Of(ratios(samples, b.samples[key{l.name, plain}])).Show(false)
		}
		resident := column(samples, func(s *sample) float64 { return s.resident })
		row = append(row, beside, stats.Number(stats.Median(resident)))
		if len(rows) == 0 {
			for _, turn := range turns {
				head = append(head, fmt.Sprintf("turn %d, µs", turn))
			}
			head = append(head, "all, ms", "÷ plain", "RSS, MiB")
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		fmt.Fprintf(out, "## %s\n\n%s. Rounds: %d.\n\n", command.Capital(l.name), command.Capital(l.about),
			len(b.samples[key{l.name, this}]))
		lab.WriteTable(out, head, rows)
	}
}

func column(samples []sample, figure func(*sample) float64) []float64 {
	var all []float64
	for i := range samples {
		all = append(all, figure(&samples[i]))
	}
	return all
}

func ratios(of, against []sample) []float64 {
	var all []float64
	for i := range min(len(of), len(against)) {
		all = append(all, of[i].all()/against[i].all())
	}
	return all
}

func (b *bench) writeMemory(out io.Writer) {
	var rows [][]string
	for _, v := range []variant{older, this} {
		if m, ok := b.memories[v]; ok {
			rows = append(rows, []string{string(v), stats.Number(m.start), stats.Number(m.one), stats.Number(m.all)})
		}
	}
	if len(rows) > 0 {
		fmt.Fprint(out, "## Memory of a VM\n\n"+
			"Resident memory of an Envoy's VMs, which is one worker's and the main thread's, in MiB.\n\n")
		lab.WriteTable(out, []string{"variant", "at its start", "after a session",
			fmt.Sprintf("after %d sessions", b.options.sessions)}, rows)
	}
}

// page returns a page of documentation with the tables.
func (b *bench) page(tables string) string {
	return fmt.Sprintf("# An agent's turns\n\n"+
		"`make bench-agent` has written this page. It ran on %s,\n%s.\n\n"+
		"A session is of `e2e/agents`: 43 turns of a coding agent, with 24 KB in the first request and 490 KB, which are\n"+
		"138,000 tokens, in the last. Answers have %d tokens.\nEach round has sessions of its own%s.\n"+
		"This build has `prefix_memory: %s` ([how it works](../agent-turns.md)).\n"+
		"All variants play them in random order, one request after the other. CPU is the processor time of the whole\n"+
		"Envoy. Every figure is the median of the rounds. In brackets is the interval that has the median with a\n"+
		"probability of 90 %%.\n\n%s",
		time.Now().UTC().Format(time.DateOnly), lab.Machine(), answerWords, b.held(), &b.options.memory,
		strings.TrimSuffix(tables, "\n"))
}

// held says which sessions were played.
func (b *bench) held() string {
	if b.options.tuning {
		return ""
	}
	return ", none of which the gateway was tuned on"
}
