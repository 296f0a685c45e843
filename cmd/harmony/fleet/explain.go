package fleet

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// link is a link in Markdown.
var link = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)

// plainText returns a line of Markdown without links and marks.
func plainText(markdown string) string {
	return strings.ReplaceAll(link.ReplaceAllString(markdown, "$1"), "`", "")
}

// The columns of the table, which begins with the path of a setting, and how wide they may be, if they have a width.
var explainColumns = []struct {
	header string
	width  int
	text   func(*config.Setting) string
}{
	{"CHANGE", 14, change},
	{"DEFAULT", 26, func(s *config.Setting) string { return s.Default }},
	{"MAY BE", 26, func(s *config.Setting) string { return s.Range }},
	{"MEANING", 0, func(s *config.Setting) string { return s.Meaning }},
}

// change says when a change of a setting takes effect.
func change(s *config.Setting) string {
	switch s.Start {
	case "":
		return "live"
	case config.PartService:
		return "start: service"
	case config.PartPage:
		return "start: page"
	case config.PartUp:
		return "up: start"
	}
	return "start: " + string(s.Start)
}

const explainAbout = `
live       harmony up and harmony controlplane put a change in force when the file has it.
start      A change takes effect at the next start: of harmony up for its Envoy and its page, of the program that runs
           the responses service for the service. Until then the program refuses the change, and the last good file
           stays in force.
up: start  For harmony up's first listener as start. A control plane puts it in force when the file has it.

Without Envoy (harmony up --host wazero) a change takes effect at the next start, unless it is the responses service's.
Addresses of programs, and what the control plane keeps, are flags: see harmony controlplane --help. More about each
setting: docs/configuration.md.
`

// explainSettings prints a table of all settings.
func explainSettings(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "SETTING")
	for _, c := range explainColumns {
		fmt.Fprint(t, "\t", c.header)
	}
	fmt.Fprintln(t)
	all := config.Settings()
	for i := range all {
		explainSetting(t, &all[i])
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(out, explainAbout)
	return err
}

// explainSetting prints the lines of one setting: as many as its longest cell has.
func explainSetting(t io.Writer, s *config.Setting) {
	cells, lines := make([][]string, len(explainColumns)), 1
	for i, c := range explainColumns {
		cells[i] = []string{plainText(c.text(s))}
		if c.width > 0 {
			cells[i] = wrapped(cells[i][0], c.width)
		}
		lines = max(lines, len(cells[i]))
	}
	first := s.Path
	for line := range lines {
		fmt.Fprint(t, first)
		for _, cell := range cells {
			fmt.Fprint(t, "\t")
			if line < len(cell) {
				fmt.Fprint(t, cell[line])
			}
		}
		fmt.Fprintln(t)
		first = ""
	}
}

// wrapped splits a text into lines of at most width characters, if its words are not longer.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// explained is a setting in JSON.
type explained struct {
	Setting string `json:"setting"`
	Flag    string `json:"flag,omitempty"`
	Default string `json:"default"`
	Range   string `json:"range"`
	Live    bool   `json:"live"`
	Start   string `json:"start,omitempty"`
	Meaning string `json:"meaning"`
}

// explainJSON prints all settings as a list in JSON.
func explainJSON(out io.Writer) error {
	var list []explained
	for _, s := range config.Settings() {
		list = append(list, explained{Setting: s.Path, Flag: s.Flag, Default: plainText(s.Default),
			Range: plainText(s.Range), Live: s.Start == "", Start: string(s.Start), Meaning: plainText(s.Meaning)})
	}
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(list)
}
