package watch

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/inspect/explain"
	"github.com/harmonyedge/harmonyedge/sight/record/line"
)

// The colours, of the eight basic ones.
const (
	plain      explain.Colour = ""
	bold       explain.Colour = "1"
	faint      explain.Colour = "2"
	alert      explain.Colour = "31"
	answer     explain.Colour = "32"
	commentary explain.Colour = "33"
	call       explain.Colour = "35"
)

// colourOf returns the colour of a message: reasoning is faint, and calls differ from what is said before them.
func colourOf(m *line.Message) explain.Colour {
	switch {
	case m.Recipient != "":
		return call
	case m.Channel == harmony.Analysis:
		return faint
	case m.Channel == harmony.Commentary:
		return commentary
	case m.Channel == harmony.Final:
		return answer
	}
	return plain
}
