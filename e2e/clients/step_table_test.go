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

// What a cell of a table says.
const (
	works    = "yes"
	fails    = "no"
	hasNone  = "-"
	notTried = ""
)

// stepTable is a table of a page: steps, and in columns names of the model. A cell says whether a user sees what should
// be seen.
type stepTable struct {
	page, command string // the file, and what writes it
	steps, names  []string
	// has reports whether a name has a step.
	has func(name, step int) bool
	// whole reports whether everything is tried.
	whole bool

	said map[string][]string // by the page
	mu   sync.Mutex
	seen [][][]string // by names, steps and hosts: what is wrong, or that it works
}

// read reads the table from the page.
func (p *stepTable) read(t *testing.T) *stepTable {
	t.Helper()
	text, err := os.ReadFile(lab.File(p.page))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "<!-- steps: written by "+p.command+" -->\n")
	table, _, ends := strings.Cut(rest, "<!-- end of steps -->\n")
	if !ok || !ends {
		t.Fatalf("%s has no table of steps", p.page)
	}
	p.said = map[string][]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		p.said[cells[0]] = cells[1:]
	}
	for range p.names {
		name := make([][]string, len(p.steps))
		for s := range name {
			name[s] = make([]string, len(clientHosts))
		}
		p.seen = append(p.seen, name)
	}
	return p
}

// says returns what the page says of a cell.
func (p *stepTable) says(n, s int) string {
	if row := p.said[p.steps[s]]; n < len(row) {
		return row[n]
	}
	return notTried
}

// chosen reports whether a cell is tried on a host. When not all are: of the names under which a step works one, another
// one for each step, and the hosts in turn.
func (p *stepTable) chosen(n, s, host int) bool {
	if p.whole {
		return true
	}
	for i := range p.names {
		if name := (s + i) % len(p.names); p.says(name, s) == works {
			return n == name && host == s%len(clientHosts)
		}
	}
	return false
}

// note keeps what is wrong in a cell on a host.
func (p *stepTable) note(n, s, host int, wrong string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if wrong == "" {
		wrong = works
	}
	p.seen[n][s][host] = wrong
}

// of returns what was seen in a cell. Where the hosts differ it says so.
func (p *stepTable) of(n, s int) string {
	var all []string
	for h, host := range clientHosts {
		if seen := p.seen[n][s][h]; seen != notTried {
			all = append(all, seen)
			if all[0] != seen {
				return clientHosts[0] + ": " + all[0] + "; " + host + ": " + seen
			}
		}
	}
	return strings.Join(slices.Compact(all), "")
}

// compare fails the test where the page says something else than what was seen. If not all cells were tried, it only
// looks at those.
func (p *stepTable) compare(t *testing.T) {
	tried, all := 0, 0
	for n, name := range p.names {
		for s, step := range p.steps {
			if !p.has(n, s) {
				continue
			}
			all++
			got := p.of(n, s)
			if got == notTried {
				continue
			}
			tried++
			if !p.whole && got != works {
				t.Errorf("%s, %s: %s", name, step, got)
			}
		}
	}
	switch tried {
	case 0:
		t.Errorf("%s has nothing that works", p.page)
	case all:
		steps, wrong := p.tables()
		p.compareTable(t, "steps", steps)
		p.compareTable(t, "what does not work", wrong)
	}
}

// pageLock is for tests that write the same page.
var pageLock sync.Mutex

// compareTable holds a table of the page against what was seen, or writes it.
func (p *stepTable) compareTable(t *testing.T, name, table string) {
	t.Helper()
	pageLock.Lock()
	defer pageLock.Unlock()
	lab.ComparePageTable(t, p.page, p.command, name, table)
}

// tables writes the page's table of steps, and that of what a user sees of the steps that do not work.
func (p *stepTable) tables() (steps, wrong string) {
	steps = "| step | " + strings.Join(p.names, " | ") + " |\n|---|" + strings.Repeat("---|", len(p.names)) + "\n"
	for s, step := range p.steps {
		steps += "| " + step + " |"
		for n, name := range p.names {
			cell := works
			switch seen := p.of(n, s); {
			case !p.has(n, s):
				cell = hasNone
			case seen != works:
				cell = fails
				wrong += fmt.Sprintf("| %s | %s | %s |\n", step, name, seen)
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
