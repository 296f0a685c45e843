//go:build e2e

package clients

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// What a cell of the table says.
const (
	works    = "yes"
	fails    = "no"
	hasNone  = "-"
	notTried = ""
)

// codexResults are what was seen in the cells, by name, step and host: what is wrong, or that it works.
type codexResults struct {
	mu    sync.Mutex
	cells [][][]string
}

func newCodexResults() *codexResults {
	r := &codexResults{}
	for range codexNames {
		name := make([][]string, len(codexSteps))
		for s := range name {
			name[s] = make([]string, len(clientHosts))
		}
		r.cells = append(r.cells, name)
	}
	return r
}

// note keeps what is wrong in a cell on a host.
func (r *codexResults) note(c *codexCell, host int, wrong string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if wrong == "" {
		wrong = works
	}
	r.cells[c.n][c.s][host] = wrong
}

// of returns what was seen in a cell. Where the hosts differ it says so.
func (r *codexResults) of(n, s int) string {
	var all []string
	for h, host := range clientHosts {
		if seen := r.cells[n][s][h]; seen != notTried {
			all = append(all, seen)
			if all[0] != seen {
				return clientHosts[0] + ": " + all[0] + "; " + host + ": " + seen
			}
		}
	}
	return strings.Join(slices.Compact(all), "")
}

// codexPage is the table of docs/codex.md, by steps and names.
type codexPage map[string][]string

// codexCommand writes the tables.
const codexCommand = "make test-codex ARGS=-update"

// pageLock is for the two tests that write the page.
var pageLock sync.Mutex

// compareCodexTable holds a table of the page against what was seen, or writes it.
func compareCodexTable(t *testing.T, name, table string) {
	t.Helper()
	pageLock.Lock()
	defer pageLock.Unlock()
	lab.ComparePageTable(t, "docs/codex.md", codexCommand, name, table)
}

// readCodexPage reads the table from the page.
func readCodexPage(t *testing.T) codexPage {
	t.Helper()
	text, err := os.ReadFile(lab.File("docs/codex.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "<!-- steps: written by "+codexCommand+" -->\n")
	table, _, ends := strings.Cut(rest, "<!-- end of steps -->\n")
	if !ok || !ends {
		t.Fatal("docs/codex.md has no table of steps")
	}
	page := codexPage{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		page[cells[0]] = cells[1:]
	}
	return page
}

// says returns what the page says of a cell.
func (p codexPage) says(n, s int) string {
	if row := p[codexSteps[s].title]; n < len(row) {
		return row[n]
	}
	return notTried
}

// chosen reports whether a cell is tried on a host when not all are: of the names under which a step works one, another
// one for each step, and the hosts in turn.
func (p codexPage) chosen(c *codexCell, host int) bool {
	for i := range codexNames {
		if n := (c.s + i) % len(codexNames); p.says(n, c.s) == works {
			return n == c.n && host == c.s%len(clientHosts)
		}
	}
	return false
}

// compare fails the test where the page says something else than what was seen. If not all cells were tried, it only
// looks at those.
func (p codexPage) compare(t *testing.T, seen *codexResults) {
	tried, all := 0, 0
	for _, c := range codexCells() {
		all++
		got := seen.of(c.n, c.s)
		if got == notTried {
			continue
		}
		tried++
		if !wholeCodexTable() && got != works {
			t.Errorf("%s, %s: %s", c.name.title, c.step.title, got)
		}
	}
	switch tried {
	case 0:
		t.Error("docs/codex.md has nothing that works")
	case all:
		steps, wrong := seen.tables()
		compareCodexTable(t, "steps", steps)
		compareCodexTable(t, "what does not work", wrong)
	}
}

// tables writes the page's table of steps, and that of what a user sees of the steps that do not work.
func (r *codexResults) tables() (steps, wrong string) {
	steps = "| step |"
	for _, name := range codexNames {
		steps += " " + name.title + " |"
	}
	steps += "\n|---|" + strings.Repeat("---|", len(codexNames)) + "\n"
	for s, step := range codexSteps {
		steps += "| " + step.title + " |"
		for n, name := range codexNames {
			cell := works
			switch seen := r.of(n, s); {
			case step.acts(name) == nil:
				cell = hasNone
			case seen != works:
				cell = fails
				wrong += fmt.Sprintf("| %s | %s | %s |\n", step.title, name.title, seen)
			}
			steps += " " + cell + " |"
		}
		steps += "\n"
	}
	if wrong == "" {
		return steps, "Nothing of that fails.\n"
	}
	return steps, "| step | name | what the user sees |\n|---|---|---|\n" + wrong
}
