package browse

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The texts below are in the form of gpt-oss's simple_browser. e2e/toolservers is compared with the real one.

const searched = "[0] tea (history)\n**viewing lines [0 - 4] of 4**\n\nL0: \nL1: URL: \nL2: # Search Results\nL3: \n" +
	"L4:   * 【0†Tea†en.wikipedia.org】 A drink. 【1†More (https://bank.example/)†tea.example】"

func call(name, arguments string) Call {
	return Call{Name: name, Arguments: json.RawMessage(arguments)}
}

func page1(cursor int, title, lines string) string {
	return fmt.Sprintf("[%d] %s\n**viewing lines [0 - 5] of 9**\n\n%s", cursor, title, lines)
}

// A step is a call, its result, and the actions without the result and with it.
type step struct {
	call          Call
	result        string
	asked, action string
}

func TestActions(t *testing.T) {
	long := "https://en.wikipedia.org/wiki/Tea_(disambiguation)?" + strings.Repeat("long-", 20) + "end"
	steps := []step{
		{call("search", `{"query":"tea (history)","topn":5}`), searched,
			`{"type":"search","query":"tea (history)","queries":["tea (history)"]}`, ""},
		{call("find", `{"pattern":"Green"}`), "[1] Find results for text: `green` in `tea (history)` " +
			"(/find?pattern=green)\n**viewing lines [0 - 0] of 0**\n\nL0: No `find` results for pattern: `green`",
			`{"type":"find_in_page","url":"cursor:0","pattern":"Green"}`, ""},
		{call("open", `{"id":0,"cursor":0}`), page1(2, "Tea (Wikipedia) (https://en.wikipedia.org/wiki/Tea)",
			"L0: \nL1: URL: https://en.wikipedia.org/wiki/Tea\nL2: # Tea"),
			`{"type":"open_page","url":null}`, `{"type":"open_page","url":"https://en.wikipedia.org/wiki/Tea"}`},
		{call("browser.find", `{"pattern":"Grün","cursor":2}`),
			"[3] Find results for text: `grün` in `Tea (Wikipedia)` " +
				"(https://en.wikipedia.org/wiki/Tea/find?pattern=grün)\n**viewing lines [0 - 0] of 0**\n\n" +
				"L0: No `find` results for pattern: `grün`",
			`{"type":"find_in_page","url":"https://en.wikipedia.org/wiki/Tea","pattern":"Grün"}`, ""},
		// A URL of more than 80 characters is broken at hyphens.
		{call("open", `{"id":4,"cursor":"2"}`), page1(4, "Tea ("+long+")", "L0: \nL1: URL: "+long[:70]+
			"\nL2: "+long[70:130]+"\nL3: "+long[130:]+"\nL4: # Tea"),
			`{"type":"open_page","url":null}`, `{"type":"open_page","url":"` + long + `"}`},
		{call("open", `{"cursor":2,"loc":40}`), page1(5, "Tea (Wikipedia) (https://en.wikipedia.org/wiki/Tea)", "L40: x"),
			`{"type":"open_page","url":"https://en.wikipedia.org/wiki/Tea"}`, ""},
		{call("open", `{"id":9}`), "Invalid link id `9`.", `{"type":"open_page","url":null}`, ""},
		// The browser shows unquoted text. The model wrote the real one.
		{call("open", `{"id":"https://shop.example/a%2Fb?q=caf%C3%A9%20(au%20lait)"}`),
			page1(6, "Shop (https://shop.example/a/b?q=café (au lait))", "L0: x"),
			`{"type":"open_page","url":"https://shop.example/a%2Fb?q=caf%C3%A9%20(au%20lait)"}`, ""},
		// Only the unquoted one is there: it is quoted again.
		{call("open", `{"id":1,"loc":7}`), page1(7, "Naïve (https://bücher.example/naïve page)", "L7: x"),
			`{"type":"open_page","url":null}`,
			`{"type":"open_page","url":"https://xn--bcher-kva.example/na%C3%AFve%20page"}`},
		{call("find", `{"pattern":"x","cursor":99}`), "Cursor `99` is out of range. Available cursor indices: [0 - 7].",
			`{"type":"find_in_page","url":"cursor:99","pattern":"x"}`, ""},
		{call("open", `not JSON`), "", `{"type":"open_page","url":"https://xn--bcher-kva.example/na%C3%AFve%20page"}`, ""},
		{call("click", `[]`), "", `{"type":"search","query":"","queries":[""]}`, ""},
	}
	var p Pages
	for i, s := range steps {
		if s.action == "" {
			s.action = s.asked
		}
		if got := string(p.Asked(s.call)); got != s.asked {
			t.Errorf("step %d, asked:\n%s, want\n%s", i, got, s.asked)
		}
		got := p.Shown(s.call, s.result)
		if string(got) != s.action {
			t.Errorf("step %d, shown:\n%s, want\n%s", i, got, s.action)
		}
		checkAction(t, got)
	}
	if got := p.Sources(0); !slices.Equal(got, []string{"https://en.wikipedia.org/wiki/Tea"}) {
		t.Error("sources of the search:", got)
	}
	if got := p.Sources(99); got != nil {
		t.Error("sources of a page that was not shown:", got)
	}
	for cursor, title := range map[int]string{
		0: "tea (history)", 2: "Tea (Wikipedia)", 3: "Tea (Wikipedia)", 7: "Naïve",
	} {
		if got := p.at(cursor).title; got != title {
			t.Errorf("title of page %d: %q", cursor, got)
		}
	}
}

func TestCursors(t *testing.T) {
	p := Pages{Cursors: true}
	for _, s := range []struct{ arguments, want string }{
		{`{"id":3}`, `{"type":"open_page","url":"cursor:-1"}`},
		{`{"id":3,"cursor":2}`, `{"type":"open_page","url":"cursor:2"}`},
		{`{"id":3,"cursor":-2}`, `{"type":"open_page","url":"cursor:-2"}`},
		{`{"id":3,"cursor":1e300}`, `{"type":"open_page","url":"cursor:-1"}`},
		{`{"id":3,"cursor":2.5}`, `{"type":"open_page","url":"cursor:-1"}`},
		{`{"id":"https://a.example"}`, `{"type":"open_page","url":"https://a.example"}`},
	} {
		got := p.Asked(call("open", s.arguments))
		if string(got) != s.want {
			t.Errorf("%s: %s, want %s", s.arguments, got, s.want)
		}
		checkAction(t, got)
	}
	p.Shown(call("search", `{"query":"q"}`), page1(4, "q", ""))
	if got := string(p.Asked(call("open", `{"id":3}`))); got != `{"type":"open_page","url":"cursor:4"}` {
		t.Error("after a page was shown:", got)
	}
}

// TestDisguises has results of pages that try to be cited as another page. None may get that page's URL.
func TestDisguises(t *testing.T) {
	const bank = "https://bank.example/"
	const evil = "https://evil.example/"
	open, search := call("open", `{"id":1,"cursor":0}`), call("search", `{"query":"q"}`)
	// scrolled is a page that is not shown from its beginning, first one that is.
	scrolled := func(url string) string { return page1(1, "T ("+url+")", "L5: x") }
	first := func(title, url string) string { return page1(1, title, "L0: \nL1: URL: "+url+"\nL2: x") }
	for name, s := range map[string]struct {
		call   Call
		result string
		url    string // what the page has instead
	}{
		"a title with a URL":                            {open, page1(1, "T ("+bank+") ("+evil+")", "L5: x"), ""},
		"a title with a URL, and the page's first line": {open, first("T ("+bank+") ("+evil+")", evil), evil},
		"a URL with a URL":                              {open, scrolled(evil + " (" + bank), ""},
		"a URL with a URL, and the page's first line": {
			open, first("T ("+evil+"x ("+bank+")", evil+"x%20("+bank), evil + "x%20(" + bank},
		"a title with the browser's second line": {open, first("T ("+bank+")\n**viewing lines [0 - 1] of 1**\n\n"+
			"L0: \nL1: URL: "+bank+" ("+evil+")", evil), evil},
		"a first line that is the page's own": {
			open, page1(1, "T ("+evil+")", "L0: URL: "+bank+"\nL1: URL: "+bank), evil},
		"a query":                  {search, page1(1, "T ("+bank+")", "L0: \nL1: URL: "), ""},
		"a query that is scrolled": {call("open", `{"cursor":0,"loc":3}`), scrolled(bank), ""},
		"a query in which is looked": {
			call("find", `{"pattern":")"}`), page1(1, "`("+bank+")` (/find?pattern=))", ""), ""},
		"a query, of a page that is not known": {call("open", `{"cursor":-2,"loc":3}`), scrolled(bank), ""},
		"a link of a page that is not known":   {call("open", `{"cursor":7,"id":0}`), scrolled(bank), ""},
		"a user that looks like a host":        {open, scrolled("https://bank.example@evil.example/"), ""},
		"a backslash":                          {open, scrolled(`https://evil.example\@bank.example/`), ""},
		"a script":                             {open, scrolled("javascript://bank.example/%0aalert(1)"), ""},
		"data":                                 {call("open", `{"id":"data:text/html,x"}`), scrolled("data:text/html,x"), ""},
		"a control character":                  {open, scrolled(bank + "\x1b[2J"), ""},
		"bytes that are no UTF-8":              {open, scrolled(bank + "\xff"), ""},
		"a URL that was cut":                   {open, scrolled(bank + strings.Repeat("x", 1000) + "..."), ""},
		"a URL that is too long":               {open, scrolled(bank + strings.Repeat("x", maxURL)), ""},
		"a bracket in the host":                {open, scrolled("https://a](javascript:alert.example/"), ""},
		"no port":                              {open, scrolled("https://bank.example:x/"), ""},
		"a zone":                               {open, scrolled("https://[fe80::1%25eth0]/"), ""},
	} {
		var p Pages
		p.Shown(search, page1(0, "T ("+bank+")", "L0: \nL1: URL: "))
		action := p.Shown(s.call, s.result)
		checkAction(t, action)
		if shown := p.at(1); shown == nil || shown.url != s.url {
			t.Errorf("%s: %+v, want the URL %q", name, shown, s.url)
		}
	}
}

// TestFoundInSearch has a link of what find has found in search results: it leads to the search results, whose query
// may look like a URL.
func TestFoundInSearch(t *testing.T) {
	const query = "T (https://bank.example/)"
	var p Pages
	p.Shown(call("search", `{"query":"`+query+`"}`), page1(0, query, "L0: \nL1: URL: "))
	p.Shown(call("find", `{"pattern":"x"}`), page1(1, "Find results for text: `x` in `"+query+"` (/find?pattern=x)", ""))
	p.Shown(call("open", `{"id":0}`), page1(2, query, "L4: x"))
	if got := p.at(2).url; got != "" {
		t.Error(got)
	}
}

// TestHeads has results that show no page.
func TestHeads(t *testing.T) {
	const view = "\n**viewing lines [0 - 1] of 1**\n\n"
	for _, result := range []string{
		"", "No pages to access!", "[", "[1]", "[1] ", "[1] T", "[1] T\n**viewing lines", "[x] T" + view, "[-1] T" + view,
		"[1] T\n**viewing lines [0 - 1]**\n\n", "[99999999999999999999] T" + view, " [1] T" + view,
		"[1] T\n**viewing lines [0 - 1] of 1**", "[1] " + strings.Repeat("T", maxHead+1) + view,
		"[1] T" + view + "\n**viewing lines [bad",
	} {
		var p Pages
		p.Shown(call("open", `{"id":"https://a.example/"}`), result)
		if cursor, ok := Cursor(result); ok || len(p.pages) > 0 {
			t.Errorf("%.40q shows page %d", result, cursor)
		}
	}
	if cursor, ok := Cursor(searched); cursor != 0 || !ok {
		t.Error("a page of search results:", cursor, ok)
	}
}

func TestPagesAreBounded(t *testing.T) {
	var p Pages
	title := strings.Repeat("t ", 4000)
	const shown = 3 * maxBytes / 1024
	for i := range shown {
		url := fmt.Sprintf("https://a.example/%d/%s", i, strings.Repeat("x", 900))
		p.Shown(call("open", `{"id":"`+url+`"}`), page1(i, title+" ("+url+")", "L0: x"))
		p.Shown(call("open", `{"id":1,"cursor":`+fmt.Sprint(i)+`}`), page1(i+1, title+" ("+url+"/)", "L0: x"))
		total := 0
		for _, s := range p.pages {
			total += s.bytes()
		}
		if len(p.pages) > maxPages || len(p.order) != len(p.pages) || total > maxBytes+maxURL || total != p.bytes {
			t.Fatalf("%d pages, %d in order, %d bytes, counted as %d", len(p.pages), len(p.order), total, p.bytes)
		}
	}
	if p.at(lastPage) == nil || p.at(shown) == nil || p.at(0) != nil {
		t.Error("the pages that were shown last must be known, the first ones forgotten")
	}
	for i := range 4 * maxPages {
		p.Shown(call("search", `{}`), page1(i, "q", ""))
	}
	if len(p.pages) != maxPages {
		t.Errorf("%d small pages, want %d", len(p.pages), maxPages)
	}
	from := &page{}
	for i := range 2 * maxOpened {
		p.open(from, fmt.Sprint("https://a.example/", i))
	}
	if len(from.opened) != maxOpened {
		t.Errorf("%d pages opened from one, want %d", len(from.opened), maxOpened)
	}
}

// TestBegunAgain has a browser that has lost its pages: the page that was shown last with a cursor is cited.
func TestBegunAgain(t *testing.T) {
	var p Pages
	for _, name := range []string{"a", "b", "c"} {
		url := "https://" + name + ".example/"
		p.Shown(call("open", `{"id":"`+url+`"}`), page1(1, name+" ("+url+")", "L0: x"))
	}
	if got := p.at(1).url; got != "https://c.example/" || len(p.order) != 1 {
		t.Error(got, p.order)
	}
}
