package cli

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

// LayoutFlags say how a transcript is laid out.
type LayoutFlags struct {
	Color string
	width int
}

// Add adds the flags to a command's.
func (f *LayoutFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.Color, "color", "auto",
		"colours `WHEN`: always, never, or auto (on a terminal, unless NO_COLOR is set)")
	flags.IntVar(&f.width, "width", 0, fmt.Sprintf(
		"`COLUMNS` of a line, from %d (default: the terminal's, else %d)", explain.MinWidth, defaultWidth))
}

// Options takes the width and the colours from out where the flags leave them open.
func (f *LayoutFlags) Options(out io.Writer) (explain.Options, error) {
	o := explain.Options{Width: f.width}
	switch f.Color {
	case "auto":
		o.Color = IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	case "always":
		o.Color = true
	case "never":
	default:
		return o, fmt.Errorf("--color %s is not known; write always, never or auto", f.Color)
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

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
