//go:build e2e

package fields

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/harmonyedge/harmonyedge/e2e/cases"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
	"github.com/harmonyedge/harmonyedge/harmonycore/exchange"
)

// fieldRow is what a table of docs says about a field.
type fieldRow struct {
	name, verdict string
	// code is the code of the error of a field that is refused.
	code string
	// shown are the cases and tests that show it.
	shown []string
}

// The verdicts of the tables.
const (
	isHonoured   = "honoured"
	isMapped     = "mapped"
	isPassedOver = "passed over"
	isRefused    = "refused"
	isIgnored    = "ignored"
	isQuoted     = "quoted"
	isAsTools    = "as tools"
)

// isWhole says that what is in the field has no rows of its own.
func (r fieldRow) isWhole() bool {
	return r.verdict == isRefused || r.verdict == isIgnored || r.verdict == isQuoted ||
		r.verdict == isAsTools
}

func (api *fieldAPI) readTable(t *testing.T) map[string]fieldRow {
	t.Helper()
	schema, _ := api.readTables(t)
	return schema
}

// readTables are the rows of the fields of OpenAI's schema, and the rows of the parameters that only servers have.
func (api *fieldAPI) readTables(t *testing.T) (schema, servers map[string]fieldRow) {
	t.Helper()
	text, err := os.ReadFile(api.table)
	if err != nil {
		t.Fatal(err)
	}
	first, second, _ := strings.Cut(string(text), "## Parameters of the servers' own")
	return api.readRows(t, first), api.readRows(t, second)
}

func (api *fieldAPI) readRows(t *testing.T, text string) map[string]fieldRow {
	t.Helper()
	rows := map[string]fieldRow{}
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		name, ok := strings.CutPrefix(strings.TrimSpace(cells[0]), "`")
		if !ok || len(cells) != 4 {
			continue
		}
		r := fieldRow{name: strings.TrimSuffix(name, "`")}
		r.verdict, r.code, _ = strings.Cut(cells[1], ": ")
		r.code = strings.Trim(r.code, "`")
		for name := range strings.SplitSeq(cells[3], ",") {
			r.shown = append(r.shown, strings.Trim(strings.TrimSpace(name), "`"))
		}
		if _, twice := rows[r.name]; twice {
			t.Errorf("%s stands there twice", r.name)
		}
		rows[r.name] = r
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no rows", api.table)
	}
	return rows
}

// TestChatFields holds docs/chat-fields.md against OpenAI's schema and against what is done: every field of a Chat
// request has a row, every row is a field, what it says happens, and the cases and tests that it names are there.
func TestChatFields(t *testing.T) { chatAPI.checkTable(t) }

// TestResponsesFields holds docs/responses-fields.md against OpenAI's schema in the same way.
func TestResponsesFields(t *testing.T) { responsesAPI.checkTable(t) }

func (api *fieldAPI) checkTable(t *testing.T) {
	g, rows, tests := caseGateway(t), api.readTable(t), testNames(t)
	counts, fields := map[string]int{}, api.fields(t)
	for _, f := range fields {
		row, ok := rows[f.name]
		delete(rows, f.name)
		switch {
		case f.coveredBy(rows):
			if ok {
				t.Errorf("%s: %s with what it is in, and needs no row", f.name, row.verdict)
			}
			continue
		case f.element && !ok:
			continue // an element is what its array is
		case !ok:
			t.Errorf("%s: the schema has it, and %s has no row", f.name, api.table)
			continue
		}
		counts[row.verdict]++
		row.check(t, api, g, &f)
		for _, name := range row.shown {
			if request, ok := tests[name]; !ok {
				t.Errorf("%s: there is no case and no test %q", f.name, name)
			} else if request != "" && !strings.Contains(request, lab.Quote(f.word())) {
				t.Errorf("%s: the case %s does not send it", f.name, name)
			}
		}
		if row.isWhole() {
			rows[f.name] = row // for those below
		}
	}
	for name, row := range rows {
		if !row.isWhole() || !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			t.Errorf("%s: the schema has no such field", name)
		}
	}
	t.Logf("%v", counts)
}

// caseGateway is what the cases without settings ask, with a server that is never reached.
func caseGateway(t *testing.T) *exchange.Gateway {
	t.Helper()
	c := cases.Load(t, "chat_text_whole")
	config, err := c.Config("http://127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	return exchange.New(exchange.Options{Config: *config.Filter(), Tokenizer: lab.Vocabulary})
}

// word is what a request with the field has in it: the member's name, or of a form its type or role.
func (f *field) word() string {
	return strings.TrimSuffix(f.name[strings.LastIndexAny(f.name, ".(")+1:], ")")
}

// coveredBy says that something that the field is in is refused or ignored as a whole.
func (f *field) coveredBy(rows map[string]fieldRow) bool {
	for i, c := range f.name {
		if strings.ContainsRune(".[(", c) && rows[f.name[:i]].isWhole() {
			return true
		}
	}
	return false
}

// check lets the exchange say what it does with the field.
func (r fieldRow) check(t *testing.T, api *fieldAPI, g *exchange.Gateway, f *field) {
	t.Helper()
	request := body(t, f.put(f.example))
	refusal := refusalOf(t, g, api.path, request)
	switch r.verdict {
	case isRefused:
		if refusal == nil || refusal.Code != r.code {
			t.Errorf("%s: refused with %q, says the table; got %+v for\n%s", f.name, r.code, refusal, request)
		}
		return
	case isHonoured, isMapped, isPassedOver, isIgnored, isQuoted, isAsTools:
		if refusal != nil {
			t.Errorf("%s: %s, says the table; got %+v for\n%s", f.name, r.verdict, refusal, request)
			return
		}
	default:
		t.Errorf("%s: %q is no verdict", f.name, r.verdict)
	}
	if !r.isWhole() {
		r.checkWords(t, api, g, f)
	}
	if (r.verdict == isPassedOver || r.verdict == isIgnored) && !f.required && !f.form && !f.element {
		if with, without := sent(g, api.path, request),
			sent(g, api.path, body(t, f.put(absent))); !bytes.Equal(with, without) {
			t.Errorf("%s: %s, says the table, but the server is sent\n%s\nand without it\n%s", f.name, r.verdict, with, without)
		}
	}
}

// checkWords tries every word that the schema knows for the field.
func (r fieldRow) checkWords(t *testing.T, api *fieldAPI, g *exchange.Gateway, f *field) {
	t.Helper()
	for _, limit := range f.limits {
		words, _ := limit["enum"].([]any)
		for _, word := range words {
			if word == nil {
				continue
			}
			refusal := refusalOf(t, g, api.path, body(t, f.put(word)))
			if (refusal != nil) != api.refusedWords[fmt.Sprint(f.name, ": ", word)] {
				t.Errorf("%s: %s, says the table; with %q got %+v", f.name, r.verdict, word, refusal)
			}
		}
	}
}

// sent is what the server gets of a request.
func sent(g *exchange.Gateway, path string, b []byte) []byte {
	x := g.Begin(http.MethodPost, path)
	x.RequestHeaders()
	if f := x.Request(bytes.Clone(b), exchange.Host{
		Now: 1_000_000, ID: strings.Repeat("0123456789", 4)}).Forward; f != nil {
		return f.Body
	}
	return nil
}

// testNames are all cases of the suite, with what they send, and all tests of the repository.
func testNames(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	for _, c := range cases.All(t) {
		names[c.Name] = string(c.Body)
	}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	err := filepath.WalkDir(lab.Root(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != lab.Root() {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range function.FindAllSubmatch(text, -1) {
			names[string(found[1])] = ""
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
