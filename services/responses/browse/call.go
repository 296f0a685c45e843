package browse

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// A Call is a call of one of the browser's tools.
type Call struct {
	// Name is search, open or find. Before it may be the namespace: browser.search.
	Name string
	// Arguments are as the model wrote them. They need not be JSON.
	Arguments json.RawMessage
}

const (
	toolSearch = "search"
	toolOpen   = "open"
	toolFind   = "find"
)

// lastPage is the cursor of the page that was shown last, and the link of no link.
const lastPage, noLink = -1, -1

// largest is the largest cursor. The browser counts its pages, so no real one comes near.
const largest = 999_999_999

// arguments has the arguments of all the browser's tools.
type arguments struct {
	tool           string
	query, pattern string
	// address is what open opens if id was a string, which the browser takes for a URL. link is id otherwise.
	address string
	link    int
	cursor  int
}

// read returns the arguments of a call. An argument that is missing, or that the browser does not take, has its
// default.
func (c Call) read() arguments {
	a := arguments{tool: strings.TrimPrefix(c.Name, "browser."), link: noLink, cursor: lastPage}
	var members map[string]json.RawMessage
	if json.Unmarshal(c.Arguments, &members) != nil {
		return a
	}
	a.query, _ = text(members["query"])
	a.pattern, _ = text(members["pattern"])
	if id, ok := text(members["id"]); ok {
		a.address = id
	} else if n, ok := integer(string(members["id"])); ok && n >= 0 {
		a.link = n
	}
	cursor := string(members["cursor"])
	if s, ok := text(members["cursor"]); ok {
		cursor = s
	}
	if n, ok := integer(cursor); ok {
		a.cursor = n
	}
	return a
}

// text returns a JSON string's text, and reports whether raw is one.
func text(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// integer returns a whole number. The browser also takes 3.0 for 3.
func integer(s string) (int, bool) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > largest {
		return 0, false
	}
	return int(n), true
}
