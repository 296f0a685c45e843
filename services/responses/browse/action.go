package browse

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// action returns what a web_search_call did: OpenAI's WebSearchActionSearch, WebSearchActionOpenPage or
// WebSearchActionFind. A page without a URL is written by its cursor if there must be a URL, or if Cursors says so.
func (p *Pages) action(a arguments, url string) json.RawMessage {
	if url == "" && (p.Cursors || a.tool == toolFind) {
		url = "cursor:" + strconv.Itoa(p.resolve(a.cursor))
	}
	switch a.tool {
	case toolOpen:
		opened := &url
		if url == "" {
			opened = nil
		}
		return encode(struct {
			Type string  `json:"type"`
			URL  *string `json:"url"`
		}{"open_page", opened})
	case toolFind:
		return encode(struct {
			Type    string `json:"type"`
			URL     string `json:"url"`
			Pattern string `json:"pattern"`
		}{"find_in_page", url, a.pattern})
	}
	// query is deprecated, and what older clients read.
	return encode(struct {
		Type    string   `json:"type"`
		Query   string   `json:"query"`
		Queries []string `json:"queries"`
	}{"search", a.query, []string{a.query}})
}

// encode returns a value's JSON. It cannot fail: the values are texts and numbers.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
