package explain

import "github.com/harmonyedge/harmonyedge/harmonycore/harmony"

// colour is the parameter of the terminal's "select graphic rendition". The eight colours of old: what they look like
// is the reader's own choice, and they are there on every terminal.
type colour string

const (
	plain   colour = ""
	bold    colour = "1"
	faint   colour = "2"
	alert   colour = "1;31"
	control colour = "35"
)

// painter colours text, or leaves it as it is.
type painter bool

func (p painter) paint(c colour, text string) string {
	if !p || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// channelColour tells reasoning, calls and answers apart at a glance.
func channelColour(channel string) colour {
	switch channel {
	case harmony.Analysis:
		return "36"
	case harmony.Commentary:
		return "33"
	case harmony.Final:
		return "32"
	}
	return plain
}
