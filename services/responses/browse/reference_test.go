package browse

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// readReference reads a file that gpt-oss's own browser has written. How: e2e/toolservers/testdata/reference.py.
func readReference[T any](t *testing.T, name string) (v T) {
	t.Helper()
	text, err := os.ReadFile("../../../e2e/toolservers/testdata/" + name)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// shownByReference returns the pages of each client, after all calls that the reference's browser was asked. Each page
// that was shown must be known by the URL that the browser itself has for it.
func shownByReference(t *testing.T) map[string]*Pages {
	t.Helper()
	clients := map[string]*Pages{}
	known := 0
	for i, c := range readReference[[]struct {
		Client, Tool, Text string
		Arguments          json.RawMessage
		Page               *struct{ URL, Title string }
	}](t, "shown.json") {
		p := clients[c.Client]
		if p == nil {
			p = &Pages{}
			clients[c.Client] = p
		}
		checkAction(t, p.Shown(Call{Name: c.Tool, Arguments: c.Arguments}, c.Text))
		cursor, ok := Cursor(c.Text)
		if ok != (c.Page != nil) {
			t.Errorf("call %d shows a page: %t\n%s", i, ok, c.Text)
		}
		if !ok {
			continue
		}
		web, _, _ := strings.Cut(c.Page.URL, "/find?pattern=")
		want, _ := address(web)
		if got := p.at(cursor).url; got != want {
			t.Errorf("call %d, page %d is %q, want %q", i, cursor, got, want)
		} else if got != "" {
			known++
		}
	}
	if known == 0 {
		t.Error("no page is known")
	}
	return clients
}

func TestReferencePages(t *testing.T) { shownByReference(t) }

// TestReferenceCitations compares with what the reference makes of a final text. It writes the domain for the title.
func TestReferenceCitations(t *testing.T) {
	p := shownByReference(t)["a"]
	for _, c := range readReference[[]struct {
		Text, Content string
		Annotations   []struct {
			Start int `json:"start_index"`
			End   int `json:"end_index"`
			URL   string
		}
	}](t, "cited.json") {
		got, cited := Cite(p, c.Text)
		if got != c.Content || len(cited) != len(c.Annotations) {
			t.Errorf("%q, with %d citations, want\n%q, with %d", got, len(cited), c.Content, len(c.Annotations))
			continue
		}
		for i, want := range c.Annotations {
			if a := cited[i]; a.Start != want.Start || a.End != want.End || a.URL != want.URL {
				t.Errorf("%q: %+v, want %+v", c.Text, a, want)
			}
		}
	}
}
