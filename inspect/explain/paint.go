package explain

import "github.com/harmonyedge/harmonyedge/harmonycore/harmony"

// colour is the parameter of the terminal's "select graphic rendition" (ECMA-48, section 8.3.117). Only the eight basic
// colours are used: every terminal has them, and users choose how they look.
type colour string

const (
	plain   colour = ""
	bold    colour = "1"
	faint   colour = "2"
	alert   colour = "1;31"
	control colour = "35"
)

// painter colours text, or returns it unchanged if false.
type painter bool

func (p painter) paint(c colour, text string) string {
	if !p || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// channelColour returns the colour of a channel, so that reasoning, calls and answers are easy to distinguish.
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
