package browse

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// Bounds on what Pages holds. The page that was shown first is forgotten first.
const (
	maxPages  = 1024
	maxBytes  = 256 << 10
	maxOpened = 64
	maxTitle  = 256 // characters
	pageBytes = 128 // what a page takes beside its texts
)

// Pages knows the pages that a chain's browser has shown, by their cursors. Its zero value knows none. It is rebuilt by
// a [Pages.Shown] for each call and result of the chain, in their order. It is not for concurrent use.
//
// Results show texts of web pages, which may try to pass for others. A page gets a URL only if its result can
// have no other one.
type Pages struct {
	// Cursors has the URL of a page that is not known written as vLLM writes it, "cursor:3". Without it, it is null where
	// OpenAI's schema has null.
	Cursors bool

	pages map[int]*page
	// order has the cursors. The page that was shown last is the last.
	order []int
	bytes int
}

// page is a page that the browser has shown. Without a URL, it is one of search results, or one that is not known.
type page struct {
	url, title string
	// found reports whether it is what find has found in the page with this URL.
	found bool
	// opened has the URLs of the pages that were opened from it.
	opened []string
}

func (p *page) bytes() int {
	n := pageBytes + len(p.url) + len(p.title)
	for _, url := range p.opened {
		n += len(url)
	}
	return n
}

// Asked returns the action of a call that has no result yet.
func (p *Pages) Asked(call Call) json.RawMessage {
	a := call.read()
	return p.action(a, p.expected(a))
}

// Shown notes the page that a call's result shows, and returns the call's action. The result is the text that the model
// is given. One that shows no page is an error's: the action is [Pages.Asked]'s then.
func (p *Pages) Shown(call Call, result string) json.RawMessage {
	a := call.read()
	h, ok := readHead(result)
	if !ok {
		return p.action(a, p.expected(a))
	}
	from := p.at(a.cursor)
	shown := identify(a, h, from)
	action := p.action(a, shown.url)
	if a.tool == toolOpen && a.link != noLink && from != nil {
		p.open(from, shown.url)
	}
	p.add(h.cursor, shown)
	return action
}

// Sources returns the URLs of the pages that were opened from a page, those opened first first.
func (p *Pages) Sources(cursor int) []string {
	if from := p.at(cursor); from != nil {
		return slices.Clone(from.opened)
	}
	return nil
}

// at returns the page with this cursor, or nil.
func (p *Pages) at(cursor int) *page {
	if p == nil {
		return nil
	}
	return p.pages[p.resolve(cursor)]
}

// resolve returns the cursor of the page that was shown last for [lastPage], if one was shown.
func (p *Pages) resolve(cursor int) int {
	if cursor == lastPage && len(p.order) > 0 {
		return p.order[len(p.order)-1]
	}
	return cursor
}

// expected returns the URL of the page that a call will show, or empty.
func (p *Pages) expected(a arguments) (url string) {
	switch {
	case a.address != "":
		url, _ = address(a.address)
	case a.link == noLink:
		if from := p.at(a.cursor); from != nil {
			url = from.url
		}
	}
	return url
}

// identify returns the page that a result shows. from is the page that the call names, or nil.
func identify(a arguments, h head, from *page) *page {
	switch {
	case a.tool == toolFind:
		return identifyFound(a, h, from)
	case a.tool != toolOpen:
		// A page of search results has no URL. Its title is the query, whatever it looks like.
		return &page{title: cleanTitle(h.title)}
	}
	// A link of what find has found leads to the page behind it.
	link := a.link != noLink && from != nil && !from.found
	if a.address == "" && !link && from != nil && from.url == "" {
		return &page{title: cleanTitle(h.title)}
	}
	var candidates []string
	switch {
	case a.address != "":
		candidates = append(candidates, strings.TrimPrefix(a.address, "view-source:"))
	case !link && from != nil:
		candidates = append(candidates, from.url)
	}
	if url, ok := h.firstLine(); ok {
		candidates = append(candidates, url)
	}
	// Only what a link or a URL leads to surely has a URL. All else may be search results, with a query that ends in one.
	if url, ok := h.own(); ok && (link || a.address != "") {
		candidates = append(candidates, url)
	}
	for _, raw := range candidates {
		title, shown := h.before(raw)
		if url, ok := address(raw); ok && shown {
			return &page{url: url, title: cleanTitle(title)}
		}
	}
	return &page{title: cleanTitle(h.title)}
}

// identifyFound returns the page in which find looked for something. The page that find shows is not on the web: its
// URL is the URL of the page behind it, and "/find?pattern=" with the pattern.
func identifyFound(a arguments, h head, from *page) *page {
	suffix := "/find?pattern=" + strings.ToLower(a.pattern)
	if from != nil && from.url != "" && strings.HasSuffix(h.title, "("+cut(unquote(from.url)+suffix)+")") {
		return &page{url: from.url, title: from.title, found: true}
	}
	if own, ok := h.own(); ok {
		raw, found := strings.CutSuffix(own, suffix)
		if url, ok := address(raw); ok && found {
			return &page{url: url, found: true}
		}
	}
	return &page{found: true}
}

// open notes that the page with this URL was opened from a page.
func (p *Pages) open(from *page, url string) {
	if url == "" || slices.Contains(from.opened, url) || len(from.opened) >= maxOpened {
		return
	}
	from.opened = append(from.opened, url)
	p.bytes += len(url)
}

// add makes s the page that was shown last, with this cursor. A page that had the cursor before is forgotten: the
// browser has begun again.
func (p *Pages) add(cursor int, s *page) {
	if p.pages == nil {
		p.pages = map[int]*page{}
	}
	p.forget(cursor)
	p.pages[cursor] = s
	p.order = append(p.order, cursor)
	p.bytes += s.bytes()
	for len(p.order) > 1 && (len(p.order) > maxPages || p.bytes > maxBytes) {
		p.forget(p.order[0])
	}
}

func (p *Pages) forget(cursor int) {
	old, ok := p.pages[cursor]
	if !ok {
		return
	}
	p.bytes -= old.bytes()
	delete(p.pages, cursor)
	at := slices.Index(p.order, cursor)
	p.order = slices.Delete(p.order, at, at+1)
}

// cleanTitle returns a title as clients are given it: UTF-8 in one line, without characters that cannot be seen, and of
// a bounded length.
func cleanTitle(s string) string {
	var b strings.Builder
	count, space := 0, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = count > 0
			continue
		case !unicode.IsPrint(r):
			continue
		}
		if space {
			b.WriteByte(' ')
			count, space = count+1, false
		}
		b.WriteRune(r)
		if count++; count >= maxTitle {
			break
		}
	}
	return b.String()
}
