package main

import (
	"bytes"
	"fmt"
	"html"

	"github.com/harmonyedge/harmonyedge/bench/chart"
)

// The sizes of the plot, in pixels.
const (
	plotLeft    = 120
	panelWidth  = 230
	panelSpace  = 60
	rowHeight   = 18
	groupSpace  = 34
	plotTop     = 50
	plotMargins = 30
)

// panel is a figure of each policy under each workload.
type panel struct {
	title string
	of    func(*measured, *result) float64
	show  string
}

var panels = []panel{
	{"hit rate, %", func(_ *measured, r *result) float64 { return r.hitRate() }, "%.0f"},
	{"time to first token, p95, ms", func(_ *measured, r *result) float64 { return float64(r.at(0.95).Milliseconds()) },
		"%.0f"},
	{"in flight, max ÷ mean", func(_ *measured, r *result) float64 { return maxOverMean(r.occupied) }, "%.2f"},
}

var colors = []string{"#bbbbbb", "#888888", "#ccbb44", "#4477aa", "#228833"}

// plot returns an SVG with a panel for each figure, and in it a group of bars for each workload. The line in the first
// panel is the oracle.
func (b *bench) plot() []byte {
	var body bytes.Buffer
	bottom := plotTop
	for i, p := range panels {
		left := plotLeft + i*(panelWidth+panelSpace)
		fmt.Fprintf(&body, "<text x=\"%d\" y=\"20\" class=\"title\">%s</text>\n", left, html.EscapeString(p.title))
		y := plotTop
		for _, m := range b.measured {
			bottom = b.group(&body, m, p, i, left, y)
			y = bottom + groupSpace
		}
	}
	width := plotLeft + len(panels)*(panelWidth+panelSpace) + plotMargins
	return chart.Page(width, bottom+plotMargins,
		".group{font-weight:bold}.oracle{stroke:#cc3311;stroke-width:2}", body.Bytes())
}

// group draws the bars of a workload, and returns where they end.
func (b *bench) group(body *bytes.Buffer, m *measured, p panel, number, left, y int) int {
	widest := 0.0
	for _, policy := range b.policies {
		r := m.results[policy.name]
		widest = max(widest, p.of(m, &r))
	}
	if number == 0 {
		widest = 100
		fmt.Fprintf(body, "<text x=\"10\" y=\"%d\" class=\"group\">%s</text>\n", y-6, html.EscapeString(m.Name))
	}
	top, oracle := y, percent(m.oracle.Hits, m.oracle.Queried)/100*(panelWidth-40)
	for i, policy := range b.policies {
		r := m.results[policy.name]
		value := p.of(m, &r)
		if number == 0 {
			fmt.Fprintf(body, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left-8, y+13, policy.name)
		}
		length := value / widest * (panelWidth - 40)
		fmt.Fprintf(body, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", left, y+3, length,
			rowHeight-4, colors[i%len(colors)])
		end := length
		if number == 0 {
			end = max(end, oracle) // the line would cross the figure
		}
		fmt.Fprintf(body, "<text x=\"%.1f\" y=\"%d\">"+p.show+"</text>\n", float64(left)+end+5, y+14, value)
		y += rowHeight
	}
	if number == 0 {
		fmt.Fprintf(body, "<path d=\"M%.1f %dV%d\" class=\"oracle\"/>\n", float64(left)+oracle, top, y)
	}
	return y
}
