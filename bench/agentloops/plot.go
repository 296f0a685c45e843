package main

import (
	"bytes"
	"fmt"
	"html"

	"github.com/harmonyedge/harmonyedge/bench/chart"
)

// The sizes of the plot, in pixels.
const (
	plotWidth  = 760
	plotLeft   = 170 // of the bars
	plotRight  = 690
	rowHeight  = 20
	barHeight  = 12
	panelSpace = 44
)

// bars are the loops that the plot has, by the gateway's setting, with what stands beside a bar, and its color.
var bars = []struct{ history, label, color string }{
	{"", "its own front end", "#bbbbbb"},
	{"template", "template", "#4477aa"},
	{"sampled", "sampled", "#228833"},
}

// plot returns an SVG with a panel for each engine: the ids that it computed in a turn after a call of Chat. A line is
// at the ids that were new.
func plot(all []measured) []byte {
	var shown []*measured
	widest := 1.0
	for i := range all {
		played := false
		for _, b := range bars {
			if s, ok := chatOf(&all[i], b.history); ok {
				widest, played = max(widest, s.mean(s.recomputed)), true
			}
		}
		if played {
			shown = append(shown, &all[i])
		}
	}
	x := func(ids float64) float64 { return plotLeft + ids/widest*(plotRight-plotLeft) }
	var drawn bytes.Buffer
	y := 0
	for _, m := range shown {
		y += panelSpace
		fmt.Fprintf(&drawn, "<text x=\"10\" y=\"%d\" class=\"title\">%s</text>\n", y-14, html.EscapeString(m.Engine))
		top, added := y, 0.0
		for _, b := range bars {
			s, ok := chatOf(m, b.history)
			if !ok {
				continue
			}
			ids := s.mean(s.recomputed)
			fmt.Fprintf(&drawn, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", plotLeft-8, y+14,
				html.EscapeString(b.label))
			fmt.Fprintf(&drawn, "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", plotLeft,
				y+(rowHeight-barHeight)/2, x(ids)-plotLeft, barHeight, b.color)
			fmt.Fprintf(&drawn, "<text x=\"%.1f\" y=\"%d\">%.0f</text>\n", x(ids)+6, y+14, ids)
			added = s.mean(s.added)
			y += rowHeight
		}
		fmt.Fprintf(&drawn, "<path d=\"M%.1f %dV%d\" class=\"new\"/>\n", x(added), top-4, y+4)
	}
	return chart.Page(plotWidth, y+20, ".new{stroke:#000;stroke-dasharray:4 3}", drawn.Bytes())
}

// chatOf returns the sums of the loop of Chat with a setting, or of the engine's own front end if it is empty. It
// reports whether that was played.
func chatOf(m *measured, history string) (sums, bool) {
	for _, p := range m.Loops {
		if asked, _ := p.loop.shown(); asked == askedChat && p.loop.history == history && !p.loop.odd {
			return sumOf(p.Turns, false), true
		}
	}
	return sums{}, false
}
