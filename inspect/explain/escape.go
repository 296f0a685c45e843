package explain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// escape makes text safe to print. Every character that is not printable is written as an escape such as \n, \x1b or
// \u{202e}, so that it cannot move the cursor or hide or reorder the text around it. If quote is true, quotes are
// escaped too.
func escape(text string, quote bool) string {
	var b strings.Builder
	escapeAfter(&b, text, quote, true)
	return b.String()
}

// Escaper makes the pieces of a line safe to print, one after the other, as [Write] does with whole lines. The zero
// Escaper is at the beginning of a line.
type Escaper struct{ follows bool }

// Escape returns the next piece of the line in a form that is safe to print.
func (e *Escaper) Escape(text string) string {
	var b strings.Builder
	e.follows = !escapeAfter(&b, text, false, !e.follows)
	return b.String()
}

// escapeAfter appends text to b. escaped reports whether the preceding output was added by this program, so that a
// combining mark must not attach to it. It returns the same for what comes next.
func escapeAfter(b *strings.Builder, text string, quote, escaped bool) bool {
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if strconv.IsPrint(r) && !(r == utf8.RuneError && n == 1) && r != '\\' && !(r == '"' && quote) &&
			!(escaped && unicode.Is(unicode.M, r)) {
			b.WriteRune(r)
			escaped = false
		} else {
			escapeRune(b, r, text[:n])
			escaped = true
		}
		text = text[n:]
	}
	return escaped
}

func escapeRune(b *strings.Builder, r rune, raw string) {
	switch {
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == '\\' || r == '"':
		b.WriteByte('\\')
		b.WriteRune(r)
	case len(raw) == 1: // a control character, or a byte that is not UTF-8
		fmt.Fprintf(b, `\x%02x`, raw[0])
	default:
		fmt.Fprintf(b, `\u{%x}`, r)
	}
}

// wrap cuts escaped text into lines of at most width columns. It breaks where Unicode allows a line break or, in a word
// that is too long for a line, between two characters.
func wrap(text string, width int) []string {
	var lines []string
	state := -1
	// line is where the current line begins. place and columns are the current position and the line's width up to it.
	line, place, columns := 0, 0, 0
	// canBreak is the last position in this line where a break is allowed; atBreak is the width up to it.
	canBreak, atBreak := 0, 0
	for rest := text; rest != ""; {
		var cluster string
		var bounds int
		cluster, rest, bounds, state = uniseg.StepString(rest, state)
		w := bounds >> uniseg.ShiftWidth
		for columns+w > width && place > line {
			if canBreak > line {
				lines = append(lines, text[line:canBreak])
				line, columns = canBreak, columns-atBreak
			} else {
				lines = append(lines, text[line:place])
				line, columns = place, 0
			}
			atBreak = 0
		}
		place += len(cluster)
		columns += w
		if bounds&uniseg.MaskLine != uniseg.LineDontBreak {
			canBreak, atBreak = place, columns
		}
	}
	return append(lines, text[line:])
}
