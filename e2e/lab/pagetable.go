//go:build e2e

package lab

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// CompareFaultTable fails the test unless docs/faults.md has this table by this name; with -update it writes the table.
func CompareFaultTable(t *testing.T, name, table string) {
	t.Helper()
	ComparePageTable(t, "docs/faults.md", "make faults", name, table)
}

// ComparePageTable is CompareFaultTable for any page and the command that writes its tables.
func ComparePageTable(t *testing.T, page, command, name, table string) {
	t.Helper()
	page = File(page)
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+": written by "+command+" -->\n", "<!-- end of "+name+" -->\n"
	head, rest, ok1 := strings.Cut(string(data), begin)
	committed, tail, ok2 := strings.Cut(rest, end)
	switch {
	case !ok1 || !ok2:
		t.Fatalf("%s has no place for the table %q", page, name)
	case *Update:
		if err := os.WriteFile(page, []byte(head+begin+table+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	case committed != table:
		is, was := strings.Split(table, "\n"), strings.Split(committed, "\n")
		for _, line := range is {
			if !slices.Contains(was, line) {
				t.Errorf("seen, and not in %s:\n%s", page, line)
			}
		}
		for _, line := range was {
			if !slices.Contains(is, line) {
				t.Errorf("in %s, and not seen:\n%s", page, line)
			}
		}
	}
}
