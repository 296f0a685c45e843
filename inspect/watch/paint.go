package watch

import (
	"github.com/harmonyedge/harmonyedge/harmonycore/harmony"
	"github.com/harmonyedge/harmonyedge/inspect/record/line"
)

// colour is the parameter of the terminal's "select graphic rendition". Only the eight basic colours are used, as in
// package explain.
type colour string

const (
	plain      colour = ""
	bold       colour = "1"
	faint      colour = "2"
	alert      colour = "31"
	answer     colour = "32"
	commentary colour = "33"
	call       colour = "35"
)

// painter colours text, or returns it unchanged if false.
type painter bool

func (p painter) paint(c colour, text string) string {
	if !p || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// colourOf returns the colour of a message: reasoning is faint, and calls differ from what is said before them.
func colourOf(m *line.Message) colour {
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
