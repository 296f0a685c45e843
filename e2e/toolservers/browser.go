package toolservers

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// browserTools is what the reference server lists.
//
//go:embed testdata/browser_tools.json
var browserTools []byte

// Browser starts a server with gpt-oss's browser on [FixedWeb]. As the reference's, it keeps a stack of pages for each
// _meta.client_id, and one for all calls without.
func Browser(t testing.TB) *Server {
	t.Helper()
	s := newServer()
	listed := readTools(t, browserTools)
	server := s.newMCP("browser", listed.Instructions, versions)
	browsers := &browsers{web: FixedWeb(t), of: map[string]*browser{}}
	for _, tool := range listed.Tools {
		server.AddTool(tool, func(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			client, _ := request.Params.Meta["client_id"].(string)
			text, err := browsers.call(client, tool.Name, request.Params.Arguments)
			if err != nil {
				return failed(tool.Name, err.Error()), nil
			}
			return textResult(text), nil
		})
	}
	return s.start(t, server, nil)
}

// browsers has a browser for each client.
type browsers struct {
	web *Web
	mu  sync.Mutex
	of  map[string]*browser
}

// call runs a tool. The error is one that FastMCP reports; the browser's own errors are texts.
func (b *browsers) call(client, tool string, raw json.RawMessage) (string, error) {
	a, err := readBrowserArguments(tool, raw)
	if err != nil {
		return "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of[client] == nil {
		b.of[client] = &browser{web: b.web, pages: map[string]*WebPage{}}
	}
	return b.of[client].run(tool, a), nil
}

// browserArguments are the arguments of all three tools.
type browserArguments struct {
	query, pattern string
	// address is what a string as id is taken for.
	address    *string
	id         int
	cursor     int
	loc, lines int
	viewSource bool
}

func readBrowserArguments(tool string, raw json.RawMessage) (a browserArguments, err error) {
	var given struct {
		Query, Pattern *string
		ID             json.RawMessage
		Cursor, Loc    whole
		Lines          whole `json:"num_lines"`
		ViewSource     bool  `json:"view_source"`
	}
	given.Cursor, given.Loc, given.Lines = -1, -1, -1
	if err := json.Unmarshal(raw, &given); err != nil {
		return a, fmt.Errorf("1 validation error for %sArguments", tool)
	}
	if tool == "search" && given.Query == nil || tool == "find" && given.Pattern == nil {
		return a, fmt.Errorf("1 validation error for %sArguments\nField required", tool)
	}
	if given.Query != nil {
		a.query = *given.Query
	}
	if given.Pattern != nil {
		a.pattern = *given.Pattern
	}
	a.id, a.cursor, a.loc, a.lines = -1, int(given.Cursor), int(given.Loc), int(given.Lines)
	a.viewSource = given.ViewSource
	if len(given.ID) == 0 {
		return a, nil
	}
	if given.ID[0] == '"' {
		return a, json.Unmarshal(given.ID, &a.address)
	}
	var id whole
	if err := json.Unmarshal(given.ID, &id); err != nil {
		return a, fmt.Errorf("1 validation error for %sArguments", tool)
	}
	a.id = int(id)
	return a, nil
}

// whole is a whole number. Pydantic also takes "3" and 3.0.
type whole int

// UnmarshalJSON reads a number, or one in a string.
func (w *whole) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64)
	if err != nil || n != float64(int(n)) {
		return fmt.Errorf("no whole number: %s", data)
	}
	*w = whole(n)
	return nil
}

// browser is one client's browser. The cursor of a page is its place in the stack.
type browser struct {
	web   *Web
	pages map[string]*WebPage
	stack []string
}

func (b *browser) run(tool string, a browserArguments) string {
	var text string
	var err error
	switch tool {
	case "search":
		text, err = b.search(a)
	case "open":
		text, err = b.open(a)
	default:
		text, err = b.find(a)
	}
	if err != nil {
		return err.Error()
	}
	return text
}

func (b *browser) search(a browserArguments) (string, error) {
	if reason, ok := b.web.Failing[a.query]; ok {
		return "", fmt.Errorf("Error during search for `%s`: %s", a.query, reason)
	}
	page := b.web.Search
	page.Title = a.query
	return b.show(&page, 0, -1)
}

func (b *browser) open(a browserArguments) (string, error) {
	var url string
	at, page := -1, (*WebPage)(nil)
	switch {
	case a.address != nil:
		url = *a.address
	default:
		from, err := b.page(a.cursor)
		if err != nil {
			return "", err
		}
		url = from.URL
		if a.id < 0 {
			if !a.viewSource {
				page = from
			}
			break
		}
		id := strconv.Itoa(a.id)
		target, ok := from.Links[id]
		if !ok {
			return "", fmt.Errorf("Invalid link id `%d`.", a.id)
		}
		url = target
		if line, ok := from.snippets[id]; ok && !a.viewSource {
			at = line
		}
	}
	if page == nil {
		var err error
		if page, err = b.fetch(url, a); err != nil {
			return "", err
		}
	}
	loc := a.loc
	if loc < 0 {
		// A place that find has found is shown with the four lines before it.
		if loc = max(at, 0); loc > 4 {
			loc -= 4
		}
	}
	return b.show(page, loc, a.lines)
}

// fetch returns the page of a URL. A URL that the model wrote is always fetched, a link's only once.
func (b *browser) fetch(url string, a browserArguments) (*WebPage, error) {
	if known, ok := b.pages[url]; ok && a.address == nil && !a.viewSource {
		return known, nil
	}
	const prefix = "view-source:"
	asked := url
	if a.viewSource {
		asked = prefix + url
	}
	page, ok := b.web.Pages[strings.TrimPrefix(asked, prefix)]
	if !ok {
		return nil, fmt.Errorf("Error fetching URL `%s`: No contents returned for %s", truncate(asked, longestURL),
			strings.TrimPrefix(asked, prefix))
	}
	return &page, nil
}

func (b *browser) find(a browserArguments) (string, error) {
	page, err := b.page(a.cursor)
	if err != nil {
		return "", err
	}
	if page.found {
		return "", fmt.Errorf("Cannot run `find` on search results page or find results page")
	}
	return b.show(find(page, strings.ToLower(a.pattern)), 0, -1)
}

// page returns the page with a cursor. As in Python, negative ones count from the end.
func (b *browser) page(cursor int) (*WebPage, error) {
	last := len(b.stack) - 1
	if last < 0 {
		return nil, fmt.Errorf("No pages to access!")
	}
	at := cursor
	if at < 0 {
		at += len(b.stack)
	}
	if at < 0 || at > last {
		return nil, fmt.Errorf("Cursor `%d` is out of range. Available cursor indices: [0 - %d].", cursor, last)
	}
	return b.pages[b.stack[at]], nil
}

// show puts a page on the stack and returns what the model sees. A page that cannot be shown is taken off again.
func (b *browser) show(page *WebPage, loc, lines int) (string, error) {
	b.pages[page.URL] = page
	b.stack = append(b.stack, page.URL)
	text, err := view(page, len(b.stack)-1, loc, lines)
	if err != nil {
		b.stack = b.stack[:len(b.stack)-1]
	}
	return text, err
}
