package anthropic

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/harmonycore/openai"
)

// TestFieldsTable: each field of the body that docs/messages-fields.md has a row for is one that the decoder knows, and
// the page has a row for each that it knows.
func TestFieldsTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/messages-fields.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Fields of a request")
	table, _, _ = strings.Cut(table, "## Blocks")
	fields := map[string]bool{}
	for _, row := range strings.Split(table, "\n| ")[2:] {
		names, _, _ := strings.Cut(row, " | ")
		for _, name := range regexp.MustCompile("`([a-z_]+)[`.\\[]").FindAllStringSubmatch(names, -1) {
			fields[name[1]] = true
		}
	}
	if len(fields) < 20 {
		t.Fatalf("only %d fields", len(fields))
	}
	unknown := func(name string) int {
		messages := `,"messages":[]`
		if name == "messages" {
			messages = ""
		}
		body, failure := openai.OpenUnnamed([]byte(`{"`+name+`":[]`+messages+`}`), 100)
		if failure != nil {
			t.Fatal(failure)
		}
		r, failure := DecodeRequest(body)
		if failure != nil {
			return 0
		}
		return r.Ignored.Members
	}
	for name := range fields {
		if unknown(name) != 0 {
			t.Errorf("%s is not known", name)
		}
	}
	if unknown("a_new_one") != 1 {
		t.Error("an unknown field is not counted")
	}
	source, err := os.ReadFile("request.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range regexp.MustCompile(`"([a-z_]+)"[,:]`).FindAllStringSubmatch(string(source), -1) {
		if !fields[name[1]] {
			t.Errorf("%s has no row", name[1])
		}
	}
}
