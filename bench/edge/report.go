package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/command"
	"github.com/harmonyedge/harmonyedge/bench/stats"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// write writes all tables as Markdown.
func (b *bench) write(out io.Writer) {
	for _, r := range b.results {
		b.writeLoad(out, r)
	}
	b.writeKinds(out)
	b.writeBeside(out)
	b.writeTapped(out)
	if !b.options.tap {
		b.writeTargets(out)
	}
}

// compared are the metrics that are shown beside no filter too: as a ratio, or as what is added.
var compared = map[metric]bool{cpu: false, firstByte: true, ready: true}

func (b *bench) writeLoad(out io.Writer, r *result) {
	fmt.Fprintf(out, "## %s\n\n%s. Rounds: %d.\n\n", command.Capital(r.load.name), command.Capital(r.load.about), r.rounds)
	head := []string{"variant"}
	for _, m := range r.load.metrics {
		title := string(m)
		if unit := m.unit(); unit != "" {
			title += ", " + unit
		}
		if m == cpu {
			title += " a " + r.load.unit
		}
		head = append(head, title)
		if added, ok := compared[m]; ok && added {
			head = append(head, "over none")
		} else if ok {
			head = append(head, "÷ none")
		}
	}
	var rows [][]string
	for _, v := range b.variants {
		if len(r.samples[v.name]) == 0 {
			continue
		}
		row := []string{v.name}
		for _, m := range r.load.metrics {
			value := stats.Number(r.value(m, v.name))
			if m == collections && value != stats.Number(math.NaN()) {
				value = fmt.Sprintf("%.0f", r.value(m, v.name))
			}
			row = append(row, value)
			added, ok := compared[m]
			switch {
			case !ok:
			case v.isBase():
				row = append(row, "")
			default:
				row = append(row, stats.Of(r.compare(m, v.name, v.base(), added)).Show(added))
			}
		}
		rows = append(rows, row)
	}
	lab.WriteTable(out, head, rows)
}

// writeKinds writes what each kind of server costs, side by side.
func (b *bench) writeKinds(out io.Writer) {
	for _, r := range b.results {
		kinds := r.kinds(b.variants)
		if len(kinds) < 2 || r.load.unit != "token" {
			continue
		}
		fmt.Fprintf(out, "## Kinds of servers, %s\n\nCPU seconds of Envoy for 1,000,000 tokens of Chat.\n\n", r.load.name)
		var rows [][]string
		for _, kind := range kinds {
			name := chatBefore(kind)
			base := (&variant{kind: kind}).base()
			rows = append(rows, []string{"`" + kind + "`", stats.Number(r.value(cpu, base)), stats.Number(r.value(cpu, name)),
				stats.Of(r.compare(cpu, name, base, false)).Show(false),
				stats.Of(r.compare(cpu, name, chatBefore(kinds[0]), false)).Show(false)})
		}
		lab.WriteTable(out, []string{"kind", "no filter", "this filter", "÷ no filter", "÷ `" + kinds[0] + "`"}, rows)
	}
}

// writeBeside writes how this filter compares with the other build.
func (b *bench) writeBeside(out io.Writer) {
	var rows [][]string
	for _, r := range b.results {
		for _, api := range []string{"chat", "responses"} {
			for _, m := range r.load.metrics {
				if figures := r.compare(m, api, api+" "+besides, false); len(figures) > 0 {
					rows = append(rows, []string{r.load.name, api, string(m), stats.Of(figures).Show(false)})
				}
			}
		}
	}
	if len(rows) > 0 {
		fmt.Fprint(out, "## This build ÷ the other\n\n")
		lab.WriteTable(out, []string{"load", "variant", "figure", "ratio"}, rows)
	}
}

func (b *bench) writeTargets(out io.Writer) {
	var rows [][]string
	for _, r := range b.results {
		for _, t := range targets {
			if e, ok := t.measured(r); ok {
				limit := "≤ " + stats.Number(t.limit)
				switch {
				case t.added:
					limit = fmt.Sprintf("≤ +%s %s", stats.Number(t.limit), t.metric.unit())
				case t.against == "":
					limit += " " + t.metric.unit()
				}
				rows = append(rows, []string{t.String(), limit, e.Show(t.added), fmt.Sprint(r.rounds),
					string(e.Judge(t.limit))})
			}
		}
	}
	if len(rows) > 0 {
		fmt.Fprint(out, "## Targets\n\n")
		lab.WriteTable(out, []string{"figure", "target", "measured", "rounds", ""}, rows)
	}
}

// page returns a page of documentation with the tables.
func (b *bench) page(tables string) string {
	return fmt.Sprintf("# The filter at the edge\n\n"+
		"`make bench-edge` has written this page: [what the variants and loads are](../cost.md). It ran on %s,\n"+
		"%s. Envoy had one worker. Every figure is the median of the rounds.\n"+
		"In brackets is the interval that has the median with a probability of 90 %%.\n\n"+
		"![CPU of each variant beside no filter](edge.svg)\n\n%s",
		time.Now().UTC().Format(time.DateOnly), lab.Machine(), strings.TrimSuffix(tables, "\n"))
}
