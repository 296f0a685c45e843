package toolservers

import (
	_ "embed"
	"encoding/json"
	"testing"
)

// webFile has the web that the browser sees. testdata/reference.py makes it from testdata/web, with the reference's own
// code, which turns HTML into text.
//
//go:embed testdata/web.json
var webFile []byte

// A Web is what a browser can search and open.
type Web struct {
	// Search is the page of results, the same for every query. Queries in Failing fail with the error there.
	Search  WebPage           `json:"search"`
	Failing map[string]string `json:"failing"`
	// Pages are by their URLs.
	Pages map[string]WebPage `json:"pages"`
}

// A WebPage is a page as text.
type WebPage struct {
	URL   string `json:"url"`
	Title string `json:"title"`
	Text  string `json:"text"`
	// Links are the URLs of the page's links, by their ids.
	Links map[string]string `json:"urls"`

	// snippets are where the links of a page of find lead to, by their ids. Only a page of find has any, and found is set.
	snippets map[string]int
	found    bool
}

// FixedWeb returns the web of the tests.
func FixedWeb(t testing.TB) *Web {
	t.Helper()
	var w Web
	if err := json.Unmarshal(webFile, &w); err != nil {
		t.Fatal(err)
	}
	return &w
}
