package fleet

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// screen prints tables and texts that fit a number of columns.
type screen struct {
	io.Writer
	width int
	color bool
}

// The colours of states.
const (
	plain  = ""
	good   = "\x1b[32m"
	doubt  = "\x1b[33m"
	bad    = "\x1b[31m"
	head   = "\x1b[1m"
	normal = "\x1b[0m"
)

// paint returns a text in a colour, if the screen has colours.
func (s *screen) paint(color, text string) string {
	if !s.color || color == plain || text == "" {
		return text
	}
	return color + text + normal
}

// cell is one cell of a table.
type cell struct{ text, color string }

// cells returns the cells of a row without colours.
func cells(texts ...string) []cell {
	row := make([]cell, len(texts))
	for i, text := range texts {
		row[i].text = text
	}
	return row
}

// gap is the space between columns.
const gap = 2

// table prints rows, of which the first names the columns. Columns without a text below the first row are left out. A
// cell of the widest column is cut in its middle where a row would be too wide.
func (s *screen) table(indent int, rows [][]cell) {
	widths := make([]int, len(rows[0]))
	for i := range widths {
		for n, row := range rows {
			if n > 0 && i < len(row) && row[i].text != "" {
				widths[i] = max(widths[i], utf8.RuneCountInString(row[i].text), utf8.RuneCountInString(rows[0][i].text))
			}
		}
	}
	s.shrink(widths, indent)
	for n, row := range rows {
		line := ""
		pad := strings.Repeat(" ", indent)
		for i, c := range row {
			if widths[i] == 0 {
				continue
			}
			text := middleCut(c.text, widths[i])
			color := c.color
			if n == 0 {
				color = head
			}
			line += pad + s.paint(color, text)
			pad = strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+gap)
		}
		fmt.Fprintln(s, strings.TrimRight(line, " "))
	}
}

// shrink makes the widest columns narrower until a row fits.
func (s *screen) shrink(widths []int, indent int) {
	const narrowest = 12
	for {
		total, widest := indent-gap, 0
		for i, w := range widths {
			if w > 0 {
				total += w + gap
			}
			if w > widths[widest] {
				widest = i
			}
		}
		if total <= s.width || widths[widest] <= narrowest {
			return
		}
		widths[widest] = max(narrowest, widths[widest]-(total-s.width))
	}
}

// middleCut returns a text of at most n characters: its beginning and its end, since names differ in both.
func middleCut(text string, n int) string {
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	tail := (n - 1) / 2
	return string(runes[:n-1-tail]) + "…" + string(runes[len(runes)-tail:])
}

// note prints a text below a table, on as many lines as it needs.
func (s *screen) note(indent int, color, text string) {
	const further = 2
	line, space := "", s.width-indent
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > space {
			fmt.Fprintf(s, "%*s%s\n", indent, "", s.paint(color, line))
			line = strings.Repeat(" ", further)
		} else if line != "" {
			line += " "
		}
		line += word
	}
	fmt.Fprintf(s, "%*s%s\n", indent, "", s.paint(color, line))
}
