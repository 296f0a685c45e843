package explain

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// escape makes text safe to print: whatever is no printable character is written as \n, \x1b or \u{202e}, so that it
// neither moves the cursor nor hides or turns round what stands beside it. quote also escapes quotes.
func escape(text string, quote bool) string {
	var b strings.Builder
	// ours says that what stands before is not the text's own, so that a combining mark must not join it.
	ours := true
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if strconv.IsPrint(r) && !(r == utf8.RuneError && n == 1) && r != '\\' && !(r == '"' && quote) && !(ours && unicode.Is(unicode.M, r)) {
			b.WriteRune(r)
			ours = false
		} else {
			escapeRune(&b, r, text[:n])
			ours = true
		}
		text = text[n:]
	}
	return b.String()
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
	case len(raw) == 1: // a control character, or a byte that is no UTF-8
		fmt.Fprintf(b, `\x%02x`, raw[0])
	default:
		fmt.Fprintf(b, `\u{%x}`, r)
	}
}

// wrap cuts escaped text into lines of at most width columns, where Unicode allows a line break or, in a word that is
// too long for a line, between two characters.
func wrap(text string, width int) []string {
	var lines []string
	state := -1
	// line is where the line begins, place and columns where and how wide it would be if it were broken now.
	line, place, columns := 0, 0, 0
	// canBreak is the last place for a break in this line, at its width there.
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
