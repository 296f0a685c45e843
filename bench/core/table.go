package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// result is a measured row.
type result struct {
	row      *row
	cells    map[string]*cell
	verdicts map[string]verdict
}

var titles = map[string]string{
	"encode": "Encode: more MB/s are better, fewer µs (for one message)",
	"render": "Render for completion: µs for a conversation",
	"parse":  "Parse a stream of ids: ns for a token",
}

// printTables prints a table for each group: the medians, and which ids differ from the reference's.
func printTables(out io.Writer, columns []column, results []result) {
	for _, group := range []string{"encode", "render", "parse"} {
		inGroup := slices.DeleteFunc(slices.Clone(results), func(r result) bool { return r.row.group != group })
		if len(inGroup) == 0 {
			continue
		}
		names := columnsOf(group, columns)
		fmt.Fprintf(out, "%s\n\n", titles[group])
		t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		line(t, "", "", names, func(c column) string { return c.name })
		for _, r := range inGroup {
			line(t, r.row.name, r.row.unit.name, names, func(c column) string { return show(r, c.name) })
		}
		line(t, "ids equal", "", names, func(c column) string { return exactness(inGroup, c.name) })
		_ = t.Flush()
		for _, r := range inGroup {
			for _, c := range names {
				if cell := r.cells[c.name]; cell != nil && cell.failure != "" {
					fmt.Fprintf(out, "  %s, %s: %s: %s\n", r.row.name, c.name, cell.failure, cell.reason)
				}
			}
		}
		fmt.Fprintln(out)
	}
}

// nameWidth is the width of the column of names, which is aligned left while the numbers are aligned right.
const nameWidth = len("1 MB of one Chinese character")

func line(t io.Writer, name, unit string, columns []column, text func(column) string) {
	fmt.Fprintf(t, "%-*s\t%s\t", nameWidth, name, unit)
	for _, c := range columns {
		fmt.Fprintf(t, "%s\t", text(c))
	}
	fmt.Fprintln(t)
}

func show(r result, column string) string {
	cell := r.cells[column]
	switch {
	case cell == nil:
		return ""
	case cell.failure != "":
		return cell.failure
	}
	text := number(r.row.unit.show(median(cell.ns)))
	switch r.verdicts[column] {
	case wrong:
		text += " wrong ids"
	case unknown:
		text += " unchecked"
	}
	return text
}

// exactness sums up a column over all rows.
func exactness(results []result, column string) string {
	state := unknown
	for _, r := range results {
		state = worst(state, r.verdicts[column])
	}
	return [...]string{unknown: "", exact: "exact", wrong: "WRONG"}[state]
}

// number formats a figure with three significant digits.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// printLoad prints what loading the vocabulary costs: medians over all rows, since each row starts every column anew.
func printLoad(out io.Writer, columns []column, results []result) {
	fmt.Fprint(out, "Loading the vocabulary\n\n")
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	line(t, "", "", columns, func(c column) string { return c.name })
	for _, l := range []struct {
		name, unit string
		of         func(loaded) int64
		scale      float64
	}{
		{"process start to first id", "ms", func(l loaded) int64 { return l.Start }, 1e6},
		{"load to first id", "ms", func(l loaded) int64 { return l.Load }, 1e6},
		{"memory for it", "MB", func(l loaded) int64 { return l.RSS }, 1e6},
	} {
		line(t, l.name, l.unit, columns, func(c column) string {
			var all []float64
			for _, r := range results {
				if cell := r.cells[c.name]; cell != nil && l.of(cell.loaded) >= 0 {
					all = append(all, float64(l.of(cell.loaded))/l.scale)
				}
			}
			if len(all) == 0 {
				return ""
			}
			return number(median(all))
		})
	}
	_ = t.Flush()
	for _, r := range results {
		for _, cell := range r.cells {
			if m := cell.filter; m != nil {
				fmt.Fprintf(out, "  In the filter: a table of %s MB, %s MB of heap in use, %s MB of linear memory in all.\n",
					number(float64(m.Table)/1e6), number(float64(m.Heap)/1e6), number(float64(m.Linear)/1e6))
				return
			}
		}
	}
}

// printTargets prints the targets as medians of the rounds' ratios.
func printTargets(out io.Writer, results []result) {
	fmt.Fprint(out, "\nTargets (median of the rounds' ratios)\n\n")
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, target := range targets {
		for _, r := range results {
			if r.row.group != target.group || !slices.Contains(target.rows, r.row.name) {
				continue
			}
			ratio, verdict := "-", "not measured"
			if v, ok := target.ratio(r); ok {
				ratio, verdict = number(v)+"x", "miss"
				if v >= target.atLeast {
					verdict = "pass"
				}
			}
			fmt.Fprintf(t, "  %s\t%s / %s\t%s\t>= %sx\t%s\n", r.row.name, target.of, target.than, ratio,
				strings.TrimSuffix(number(target.atLeast), ".00"), verdict)
		}
	}
	_ = t.Flush()
}
