package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/harmonyedge/harmonyedge/inspect/explain"
)

// defaultWidth is the width of a transcript, in columns, if the output is not a terminal.
const defaultWidth = 100

// layoutFlags say how a transcript is laid out.
type layoutFlags struct {
	color string
	width int
}

func (f *layoutFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.color, "color", "auto",
		"colours `WHEN`: always, never, or auto (on a terminal, unless NO_COLOR is set)")
	flags.IntVar(&f.width, "width", 0, fmt.Sprintf(
		"`COLUMNS` of a line, from %d (default: the terminal's, else %d)", explain.MinWidth, defaultWidth))
}

// options takes the width and the colours from out where the flags leave them open.
func (f *layoutFlags) options(out io.Writer) (explain.Options, error) {
	o := explain.Options{Width: f.width}
	switch f.color {
	case "auto":
		o.Color = isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	case "always":
		o.Color = true
	case "never":
	default:
		return o, fmt.Errorf("--color %s is not known; write always, never or auto", f.color)
	}
	if f.width == 0 {
		o.Width = widthOf(out)
	} else if f.width < explain.MinWidth {
		return o, fmt.Errorf("--width %d is too narrow; write at least %d", f.width, explain.MinWidth)
	}
	return o, nil
}

func widthOf(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return defaultWidth
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
