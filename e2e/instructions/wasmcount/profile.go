package wasmcount

import (
	"bufio"
	"cmp"
	"fmt"
	"hash/fnv"
	"html"
	"io"
	"slices"
	"strings"
)

// Frame is a function as called by the functions above it. The root of a profile has no name.
type Frame struct {
	Name string
	// Self is the instructions of the function itself, without the functions that it calls.
	Self, Calls uint64
	Children    []*Frame
}

func (f *Frame) child(name string) *Frame {
	for _, c := range f.Children {
		if c.Name == name {
			return c
		}
	}
	c := &Frame{Name: name}
	f.Children = append(f.Children, c)
	return c
}

// Total returns the instructions of the function and of all that it calls.
func (f *Frame) Total() uint64 {
	n := f.Self
	for _, c := range f.Children {
		n += c.Total()
	}
	return n
}

// Function is what all calls of a function have executed.
type Function struct {
	Name        string
	Self, Calls uint64
}

// Functions returns the functions below a frame, those with the most instructions of their own first.
func (f *Frame) Functions() []Function {
	sums := map[string]*Function{}
	f.walk(func(c *Frame) {
		if sums[c.Name] == nil {
			sums[c.Name] = &Function{Name: c.Name}
		}
		sums[c.Name].Self += c.Self
		sums[c.Name].Calls += c.Calls
	})
	var all []Function
	for _, s := range sums {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b Function) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), strings.Compare(a.Name, b.Name))
	})
	return all
}

func (f *Frame) walk(visit func(*Frame)) {
	for _, c := range f.Children {
		visit(c)
		c.walk(visit)
	}
}

// The sizes of a flame graph, in pixels.
const (
	graphWidth  = 1400
	rowHeight   = 17
	letterWidth = 6.6
	leastWidth  = 0.4 // narrower frames are omitted
)

// WriteSVG writes a flame graph (https://www.brendangregg.com/flamegraphs.html): a bar for each frame, as wide as its
// instructions, below the functions that it calls. A browser shows a bar's whole name and numbers under the pointer.
func (f *Frame) WriteSVG(w io.Writer, title string) error {
	out := bufio.NewWriter(w)
	height := (f.depth() + 2) * rowHeight
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="monospace" font-size="11">`+
		"\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"+
		"<text x=\"4\" y=\"13\" font-size=\"13\">%s: %d instructions</text>\n", graphWidth, height, html.EscapeString(title), f.Total())
	if all := f.Total(); all > 0 {
		g := graph{out: out, all: all}
		g.draw(f.Children, 0, height-rowHeight)
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

func (f *Frame) depth() int {
	deepest := 0
	for _, c := range f.Children {
		deepest = max(deepest, 1+c.depth())
	}
	return deepest
}

type graph struct {
	out io.Writer
	all uint64
}

// draw draws frames side by side, beginning at x, and above each the functions that it calls.
func (g *graph) draw(frames []*Frame, x float64, y int) {
	for _, f := range frames {
		total := f.Total()
		width := graphWidth * float64(total) / float64(g.all)
		if width < leastWidth {
			continue
		}
		name := html.EscapeString(f.Name)
		fmt.Fprintf(g.out, `<g><title>%s: %d instructions, %.1f %%; its own %d; %d calls</title>`+
			`<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`, name, total, 100*float64(total)/float64(g.all), f.Self,
			f.Calls, x, y, width-0.2, rowHeight-1, colour(f.Name))
		if letters := int((width - 4) / letterWidth); letters > 3 {
			short := f.Name[strings.LastIndexByte(f.Name, '/')+1:]
			fmt.Fprintf(g.out, `<text x="%.1f" y="%d">%s</text>`, x+2, y+12, html.EscapeString(short[:min(letters, len(short))]))
		}
		fmt.Fprintln(g.out, "</g>")
		g.draw(f.Children, x, y-rowHeight)
		x += width
	}
}

// colour returns a colour for each package.
func colour(name string) string {
	slash := strings.LastIndexByte(name, '/') + 1
	if dot := strings.IndexByte(name[slash:], '.'); dot >= 0 {
		name = name[:slash+dot]
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.Trim(name, "(*")))
	return fmt.Sprintf("hsl(%d,65%%,72%%)", h.Sum32()%360)
}
