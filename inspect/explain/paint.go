package explain

import "github.com/harmonyedge/harmonyedge/harmonycore/harmony"

// Colour is the parameter of the terminal's "select graphic rendition" (ECMA-48, section 8.3.117). Only the eight basic
// colours are used: every terminal has them, and users choose how they look.
type Colour string

const (
	plain   Colour = ""
	bold    Colour = "1"
	faint   Colour = "2"
	alert   Colour = "1;31"
	control Colour = "35"
)

// Painter colours text, or returns it unchanged if false.
type Painter bool

// Paint returns a text in a colour. The text must be safe to print.
func (p Painter) Paint(c Colour, text string) string {
	if !p || c == plain || text == "" {
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}

// channelColour returns the colour of a channel, so that reasoning, calls and answers are easy to distinguish.
func channelColour(channel string) Colour {
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
