//go:build e2e

package nemogym

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// columns is the length of the page's lines.
const columns = 118

// TestDifferencesPage: the list at the page's end has the rows of the table of differences. -update writes it.
func TestDifferencesPage(t *testing.T) {
	path := lab.File(page)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(text), "\n- **")
	if !ok {
		t.Fatalf("%s has no list of differences", page)
	}
	var want strings.Builder
	want.WriteString(before + "\n")
	for i := range differences {
		line := "-"
		for word := range strings.FieldsSeq("**" + differences[i].name + "**: " + differences[i].reason) {
			if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
				want.WriteString(line + "\n")
				line = " "
			}
			line += " " + word
		}
		want.WriteString(line + "\n")
	}
	if want.String() == string(text) {
		return
	}
	if !*lab.Update {
		t.Fatalf("the list of differences in %s is not that of the tests: go test -tags e2e ./e2e/nemogym -update", page)
	}
	if err := os.WriteFile(path, []byte(want.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
