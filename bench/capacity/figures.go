package main

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// figures are the tables of a page, in their order.
type figures []section

// section is a heading with its table: the figures by variant and column.
type section struct {
	name string
	rows map[string]map[string]float64
}

// readFigures reads a page that a bench has written.
func readFigures(path string) (figures, error) {
	page, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	all := parseFigures(string(page))
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no tables", path)
	}
	return all, nil
}

func parseFigures(page string) figures {
	var all figures
	var head []string
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "## "); ok {
			all = append(all, section{name: name, rows: map[string]map[string]float64{}})
			head = nil
		}
		if !strings.HasPrefix(line, "| ") || len(all) == 0 {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if head == nil {
			head = cells
			continue
		}
		row := map[string]float64{}
		for i, cell := range cells[:min(len(cells), len(head))] {
			if v, err := strconv.ParseFloat(strings.TrimSpace(cell), 64); err == nil {
				row[strings.TrimSpace(head[i])] = v
			}
		}
		all[len(all)-1].rows[strings.TrimSpace(cells[0])] = row
	}
	return all
}

// value returns a figure, and whether there is one.
func (f figures) value(name, variant, column string) (float64, bool) {
	for _, s := range f {
		if s.name == name {
			v, ok := s.rows[variant][column]
			return v, ok
		}
	}
	return 0, false
}

// crowd is an Envoy with workers and streams: the CPU of its start in ms, and its memory before and with the streams in
// MiB.
type crowd struct {
	workers, streams, cpu, start, held float64
	ok                                 bool
}

// crowd returns the figures of a section whose name is such as 64 × 10000.
func (f figures) crowd(i int, variant string) crowd {
	c, row := crowd{}, f[i].rows[variant]
	n, _ := fmt.Sscanf(f[i].name, "%f × %f", &c.workers, &c.streams)
	c.cpu, c.start, c.held = row["CPU until then, ms"], row["resident, MiB"], row["with streams, MiB"]
	c.ok = n == 2 && c.cpu > 0 && c.start > 0 && c.held > 0
	return c
}

// table is a Markdown table. The first row is its head.
type table [][]string

// String writes the table.
func (t table) String() string {
	var out strings.Builder
	for i, row := range t {
		out.WriteString("| " + strings.Join(row, " | ") + " |\n")
		if i == 0 {
			out.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return out.String()
}

// number writes a figure with three digits, such as 25,800 and 0.0123, or – if there is none.
func number(v float64, ok bool) string {
	if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	if math.Abs(v) < 100 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	unit := math.Pow(10, math.Max(0, math.Floor(math.Log10(math.Abs(v)))-2))
	digits := strconv.FormatFloat(math.Round(v/unit)*unit, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
