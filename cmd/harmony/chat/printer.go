package chat

import (
	"fmt"
	"io"
	"strings"

	"github.com/harmonyedge/harmonyedge/inspect/explain"
)

// lane is a kind of text in an answer.
type lane int

// The lanes.
const (
	noLane lane = iota
	reasoning
	calls
	answer
)

// The colours of lanes, and of what this program itself says.
var colours = [...]explain.Colour{reasoning: "2", calls: "35", answer: "32"}

const (
	ownColour    explain.Colour = "36"
	failedColour explain.Colour = "31"
)

// printer prints lanes. What comes from a server is made safe to print.
type printer struct {
	w     io.Writer
	color bool

	lane   lane
	escape explain.Escaper
	begun  bool // whether the line has begun
}

func (p *printer) paint(c explain.Colour, text string) string {
	return explain.Painter(p.color).Paint(c, text)
}

// show prints more of a lane. Another lane begins on a line of its own.
func (p *printer) show(l lane, text string) {
	if text == "" {
		return
	}
	if l != p.lane {
		p.end()
		p.lane = l
	}
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			fmt.Fprintln(p.w)
			p.escape, p.begun = explain.Escaper{}, false
		}
		if line != "" {
			fmt.Fprint(p.w, p.paint(colours[l], p.escape.Escape(line)))
			p.begun = true
		}
	}
}

// end ends the line and the lane.
func (p *printer) end() {
	if p.begun {
		fmt.Fprintln(p.w)
	}
	p.lane, p.escape, p.begun = noLane, explain.Escaper{}, false
}

func (p *printer) ask(text string) { fmt.Fprint(p.w, p.paint(ownColour, text)) }

func (p *printer) note(text string) { fmt.Fprintln(p.w, p.paint(ownColour, text)) }

func (p *printer) fail(err error) {
	var e explain.Escaper
	fmt.Fprintln(p.w, p.paint(failedColour, e.Escape(err.Error())))
}
