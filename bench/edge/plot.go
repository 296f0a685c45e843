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
	plotWidth  = 760
	plotLeft   = 170 // of the bars
	plotRight  = 640
	rowHeight  = 20
	barHeight  = 12
	panelSpace = 44
)

// plot returns an SVG with a panel for each load: the CPU of each variant beside no filter, with its interval.
func (b *bench) plot() []byte {
	var body bytes.Buffer
	y := 10
	for _, r := range b.results {
		bars := b.bars(r)
		if len(bars) == 0 || r.load.unit == "stream" { // idle streams cost next to nothing
			continue
		}
		y += panelSpace
		widest := 1.0
		for _, one := range bars {
			widest = math.Max(widest, one.e.High)
		}
		x := func(v float64) float64 { return plotLeft + v/widest*(plotRight-plotLeft) }
		fmt.Fprintf(&body, "<text x=\"10\" y=\"%d\" class=\"title\">%s: CPU a %s ÷ no filter</text>\n", y-14,
			html.EscapeString(r.load.name), r.load.unit)
		top := y
		for _, one := range bars {
			middle := float64(y) + rowHeight/2
			fmt.Fprintf(&body, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", plotLeft-8, middle+4,
				html.EscapeString(one.name))
			fmt.Fprintf(&body, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", plotLeft,
				middle-barHeight/2, x(one.e.Median)-plotLeft, barHeight, one.color)
			fmt.Fprintf(&body, "<path d=\"M%.1f %.1fH%.1fM%.1f %.1fv8M%.1f %.1fv8\" class=\"range\"/>\n", x(one.e.Low),
				middle, x(one.e.High), x(one.e.Low), middle-4, x(one.e.High), middle-4)
			fmt.Fprintf(&body, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x(one.e.High)+8, middle+4,
				stats.Number(one.e.Median))
			y += rowHeight
		}
		fmt.Fprintf(&body, "<path d=\"M%.1f %dV%d\" class=\"one\"/>\n", x(1), top-4, y+4)
	}
	return chart.Page(plotWidth, y+20, ".range{stroke:#000;fill:none}.one{stroke:#888;stroke-dasharray:4 3}",
		body.Bytes())
}

// bar is a variant in a panel.
type bar struct {
	name, color string
	e           stats.Estimate
}

// bars returns the variants of a load whose CPU is compared with no filter.
func (b *bench) bars(r *result) []bar {
	var bars []bar
	for _, v := range b.variants {
		figures := r.compare(cpu, v.name, v.base(), false)
		if v.isBase() || len(figures) == 0 {
			continue
		}
		color := "#4477aa"
		if v.through != ours {
			color = "#bbbbbb"
		}
		bars = append(bars, bar{v.name, color, stats.Of(figures)})
	}
	return bars
}
