package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// table is a Markdown table. The first cell of a row has one or more names, each in code marks.
type table struct {
	header string
	rows   [][]string
}

// rewrite changes the table under header in a page.
func rewrite(page []byte, header string, change func(*table) error) ([]byte, error) {
	before, rest, ok := bytes.Cut(page, []byte("\n"+header+"\n"))
	rule, rest, _ := bytes.Cut(rest, []byte("\n"))
	if !ok {
		return nil, fmt.Errorf("the page has no table %s", header)
	}
	t := table{header: header}
	for bytes.HasPrefix(rest, []byte("|")) {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		t.rows = append(t.rows, cells(string(line)))
	}
	if err := change(&t); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s\n%s\n%s\n", before, header, rule)
	for _, row := range t.rows {
		out.WriteString("|")
		for _, cell := range row {
			if cell != "" {
				out.WriteString(" " + cell)
			}
			out.WriteString(" |")
		}
		out.WriteString("\n")
	}
	out.Write(rest)
	return out.Bytes(), nil
}

// cells splits a line of a table into cells. A bar after a backslash is text.
func cells(line string) []string {
	var all []string
	cell := ""
	for i := 1; i < len(line); i++ {
		if line[i] == '|' && line[i-1] != '\\' {
			all = append(all, strings.TrimSpace(cell))
			cell = ""
		} else {
			cell += line[i : i+1]
		}
	}
	return all
}

// names returns the names in the first cell of a row.
func names(row []string) []string {
	var all []string
	for name := range strings.SplitSeq(row[0], ", ") {
		all = append(all, strings.Trim(name, "`"))
	}
	return all
}

// row returns the index of a name's row, or -1 if there is none.
func (t *table) row(name string) int {
	return slices.IndexFunc(t.rows, func(row []string) bool { return slices.Contains(names(row), name) })
}

// set writes a cell of a name's row. If there is no such row, it adds one with the cells fresh after the row of before.
// A cell that begins with text, such as "0, no limit" for "0", keeps the author's words after it.
func (t *table) set(name, before string, column int, text string, fresh ...string) {
	i := t.row(name)
	if i < 0 {
		i = t.row(before) + 1
		t.rows = slices.Insert(t.rows, i, append([]string{code(name)}, fresh...))
	}
	if !strings.HasPrefix(t.rows[i][column], text) {
		t.rows[i][column] = text
	}
}

// known returns an error if the table has a row whose name is not in all.
func (t *table) known(all []string) error {
	for _, row := range t.rows {
		for _, name := range names(row) {
			if !slices.Contains(all, name) {
				return fmt.Errorf("%s has a row of %s, which is gone; remove it", t.header, name)
			}
		}
	}
	return nil
}

func code(text string) string { return "`" + text + "`" }

func codes(all []string) string {
	var out []string
	for _, text := range all {
		out = append(out, code(text))
	}
	return strings.Join(out, ", ")
}
