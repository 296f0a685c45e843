package main

import (
	"bytes"
	"fmt"
	"html"
	"math"

	"github.com/harmonyedge/harmonyedge/bench/chart"
	"github.com/harmonyedge/harmonyedge/bench/stats"
)

// The sizes of the plot, in pixels.
const (
	plotLeft    = 170
	panelWidth  = 270
	panelSpace  = 60
	rowHeight   = 20
	plotTop     = 50
	plotMargins = 30
)

// panel is a figure of each row.
type panel struct {
	title string
	of    func(*result) float64
	// logarithmic panels begin at 10.
	logarithmic bool
}

func (b *bench) panels() []panel {
	p99 := func(is func(*request) bool) func(*result) float64 {
		return func(r *result) float64 { return 1000 * stats.Quantile(r.firsts(is), 0.99) }
	}
	return []panel{
		{"quiet, first token p99, ms", p99(isQuiet), true},
		{"others, first token p99, ms", p99(func(r *request) bool { return !isQuiet(r) }), true},
		{"goodput, tokens a second", b.goodput, false},
	}
}

// plot returns an SVG with a panel for each figure, and in it a bar for each row.
func (b *bench) plot() []byte {
	var body bytes.Buffer
	for i, p := range b.panels() {
		left, widest := plotLeft+i*(panelWidth+panelSpace), 0.0
		for _, r := range b.rows {
			if v := p.of(b.results[r.name]); !math.IsNaN(v) {
				widest = max(widest, v)
			}
		}
		fmt.Fprintf(&body, "<text x=\"%d\" y=\"20\" class=\"title\">%s</text>\n", left, html.EscapeString(p.title))
		for n, r := range b.rows {
			y, value := plotTop+n*rowHeight, p.of(b.results[r.name])
			if i == 0 {
				fmt.Fprintf(&body, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left-8, y+14,
					html.EscapeString(r.name))
			}
			if math.IsNaN(value) {
				continue
			}
			part := value / widest
			if p.logarithmic {
				part = max(math.Log10(value/10), 0) / math.Log10(widest/10)
			}
			length := part * (panelWidth - 50)
			fmt.Fprintf(&body, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", left, y+3, length,
				rowHeight-5, color(&r))
			fmt.Fprintf(&body, "<text x=\"%.1f\" y=\"%d\">%.0f</text>\n", float64(left)+length+5, y+14, value)
		}
	}
	width := plotLeft + len(b.panels())*(panelWidth+panelSpace) + plotMargins
	return chart.Page(width, plotTop+len(b.rows)*rowHeight+plotMargins, "", body.Bytes())
}

// color returns the color of a row's bars: the queue's are green, and the reference's is blue.
func color(r *row) string {
	switch r.name {
	case alone:
		return "#4477aa"
	case fair, classed:
		return "#228833"
	}
	return "#bbbbbb"
}
