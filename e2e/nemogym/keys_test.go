//go:build e2e

package nemogym

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

const page = "docs/nemo-gym.md"

// keyRow is a row of the tables of keys in the page.
type keyRow struct{ key, here, shown string }

var codeSpan = regexp.MustCompile("`([^`]+)`")

func spans(cell string) []string {
	var all []string
	for _, m := range codeSpan.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

// keyTables returns the rows of the two tables: of keys, and of what a VLLMModel does without a key.
func keyTables(t *testing.T) (keys, others []keyRow) {
	t.Helper()
	text, err := os.ReadFile(lab.File(page))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Keys\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var tables [][]keyRow
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
		case len(cells) != 3:
			t.Fatalf("a row with %d cells: %s", len(cells), line)
		case strings.HasPrefix(line, "|---"):
			tables = append(tables, nil)
		case len(tables) > 0 && !strings.Contains(line, "| here |"):
			last := &tables[len(tables)-1]
			*last = append(*last, keyRow{cells[0], cells[1], cells[2]})
		}
	}
	if len(tables) != 2 {
		t.Fatalf("%d tables, want 2", len(tables))
	}
	return tables[0], tables[1]
}

// TestKeys holds the page against NeMo Gym's list of keys, against our settings, and against the vectors: each key has
// a row, each setting exists and has such a value, and each vector and test that shows a row is there, with the row's
// key in its settings.
func TestKeys(t *testing.T) {
	data, err := os.ReadFile(lab.File("e2e/nemogym/testdata/keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	var theirs struct{ Keys []string }
	if err := json.Unmarshal(data, &theirs); err != nil {
		t.Fatal(err)
	}
	vectors := map[string]*vector{}
	for _, v := range readVectors(t) {
		vectors[v.String()] = v
	}
	keys, others := keyTables(t)
	var listed []string
	for _, row := range keys {
		var own []string
		for _, key := range spans(row.key) {
			key, _, _ = strings.Cut(key, ": ")
			own = append(own, key)
		}
		listed = append(listed, own...)
		checkShown(t, row, vectors, own)
	}
	for _, row := range others {
		checkShown(t, row, vectors, nil)
	}
	slices.Sort(listed)
	slices.Sort(theirs.Keys)
	if listed = slices.Compact(listed); !slices.Equal(listed, theirs.Keys) {
		t.Errorf("the page has the keys\n%s, a VLLMModel has\n%s", listed, theirs.Keys)
	}
	settings := readSchema(t)
	named := 0
	for _, row := range append(keys, others...) {
		for _, s := range spans(row.here) {
			if setting.MatchString(s) {
				named++
				if err := settings.check(s); err != nil {
					t.Errorf("%s: %v", s, err)
				}
			}
		}
	}
	if named < 15 {
		t.Errorf("only %d settings are named", named)
	}
}

// inAll are keys that all vectors have.
var inAll = []string{"base_url", "api_key", "model"}

func checkShown(t *testing.T, row keyRow, vectors map[string]*vector, keys []string) {
	t.Helper()
	for _, name := range spans(row.shown) {
		if strings.HasPrefix(name, "Test") {
			if !isTest(t, name) {
				t.Errorf("there is no %s", name)
			}
			continue
		}
		v := vectors[name]
		if v == nil {
			t.Errorf("there is no vector %s", name)
			continue
		}
		has := func(key string) bool { return v.Settings[key] != nil || slices.Contains(inAll, key) }
		if len(keys) > 0 && !slices.ContainsFunc(keys, has) {
			t.Errorf("%s does not have %s", name, keys)
		}
	}
}

// isTest reports whether this package has a test of this name.
func isTest(t *testing.T, name string) bool {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("\nfunc "+name+"(t *testing.T)")) {
			return true
		}
	}
	return false
}

// setting is a setting of the configuration file, with a value or without.
var setting = regexp.MustCompile(`^((?:models|pools|secrets)\[\](?:\.\w+)+|listen|envoy\.\w+|passthrough)(?:: (.+))?$`)

// schema has the members of a JSON Schema that the configuration's uses.
type schema struct {
	Ref        string             `json:"$ref"`
	Defs       map[string]*schema `json:"$defs"`
	Properties map[string]*schema `json:"properties"`
	Items      *schema            `json:"items"`
	Enum       []string           `json:"enum"`
	Type       any                `json:"type"`
}

func readSchema(t *testing.T) *schema {
	t.Helper()
	data, err := os.ReadFile(lab.File("operator/config/schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// check returns an error if there is no such setting, or if it cannot have the value that is written after it.
func (s *schema) check(text string) error {
	m := setting.FindStringSubmatch(text)
	at := s
	for name := range strings.SplitSeq(m[1], ".") {
		name, list := strings.CutSuffix(name, "[]")
		next := at.Properties[name]
		if next != nil && list {
			next = next.Items
		}
		if next == nil {
			return fmt.Errorf("there is no setting %s", name)
		}
		if def, ok := strings.CutPrefix(next.Ref, "#/$defs/"); ok {
			next = s.Defs[def]
		}
		at = next
	}
	if m[2] != "" && len(at.Enum) > 0 && !slices.Contains(at.Enum, m[2]) {
		return fmt.Errorf("it is one of %s", at.Enum)
	}
	return nil
}
