package watch

import (
	"strings"

	"github.com/rivo/uniseg"

	"github.com/harmonyedge/harmonyedge/inspect/explain"
)

// lane is what one choice of a request prints. As long as it is the only one that runs, its text is printed as it
// comes. Otherwise it is printed in whole lines, so that the lines of several can be read.
type lane struct {
	p *Printer
	// tag begins each line, such as [3].
	tag string
	// line is the part of the current line that is not printed yet. It begins with the tag if the line does.
	line strings.Builder
	// open reports whether the current line has begun. column is its width so far.
	open   bool
	column int
	escape explain.Escaper
	colour explain.Colour // of the message
}

// text adds text of a message, in its colour. Line ends in it end lines.
func (l *lane) text(text string) {
	for {
		part, rest, more := strings.Cut(text, "\n")
		for part != "" {
			n := wordEnd(part)
			l.word(part[:n])
			part = part[n:]
		}
		if !more {
			break
		}
		l.begin() // an empty line is a line too
		l.end()
		text = rest
	}
	l.show()
}

// wordEnd returns the length of the first word of a text, with the spaces before it.
func wordEnd(text string) int {
	spaces := len(text) - len(strings.TrimLeft(text, " "))
	if n := strings.IndexByte(text[spaces:], ' '); n >= 0 {
		return spaces + n
	}
	return len(text)
}

// word adds a word, and breaks the line before one that does not fit.
func (l *lane) word(text string) {
	l.begin()
	safe := l.escape.Escape(text)
	width := uniseg.StringWidth(safe)
	if l.column+width > l.p.width && l.column > l.indent() {
		l.end()
		l.begin()
		safe = l.escape.Escape(strings.TrimLeft(text, " "))
		width = uniseg.StringWidth(safe)
	}
	for l.column+width > l.p.width {
		head, tail, headWidth := cutAt(safe, max(1, l.p.width-l.column))
		if tail == "" {
			break
		}
		l.add(head, headWidth)
		l.end()
		l.begin()
		safe, width = tail, width-headWidth
	}
	l.add(safe, width)
}

// cutAt cuts text between two characters, after at most so many columns but at least one character.
func cutAt(text string, columns int) (head, tail string, width int) {
	state, rest := -1, text
	for rest != "" {
		_, next, w, s := uniseg.FirstGraphemeClusterInString(rest, state)
		if width+w > columns && width > 0 {
			break
		}
		rest, state, width = next, s, width+w
	}
	return text[:len(text)-len(rest)], rest, width
}

// add adds text that is safe to print and fits the line.
func (l *lane) add(safe string, width int) {
	l.line.WriteString(l.p.Paint(l.colour, safe))
	l.column += width
	if l.line.Len() > maxLine {
		l.end()
	}
}

// maxLine bounds what is held of a line, in bytes. Text may have any number of marks without a width.
const maxLine = 16 << 10

// textIndent stands between a tag and text of a message.
const textIndent = "   | "

func (l *lane) indent() int { return len(l.tag) + len(textIndent) }

// begin begins a line of text, if none has begun.
func (l *lane) begin() {
	if l.open {
		return
	}
	l.open, l.column, l.escape = true, l.indent(), explain.Escaper{}
	l.line.WriteString(l.p.Paint(faint, l.tag+textIndent))
}

// end ends the current line, if one has begun, and prints it.
func (l *lane) end() {
	if !l.open {
		return
	}
	if l.p.holder != l {
		l.p.interrupt()
	}
	l.p.holder = nil
	l.p.print(l.line.String() + "\n")
	l.line.Reset()
	l.open = false
}

// show prints what there is of the current line, if no other lane runs.
func (l *lane) show() {
	if l.line.Len() == 0 || l.p.lanes != 1 {
		return
	}
	if l.p.holder != l {
		l.p.interrupt()
		l.p.holder = l
	}
	l.p.print(l.line.String())
	l.line.Reset()
}
