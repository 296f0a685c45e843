package anthropic

import "github.com/harmonyedge/harmonyedge/internal/rawjson"

// Page is a page that a search has found, or that was opened.
type Page struct {
	URL, Title string
	// Sealed is what the client carries for the gateway, or empty.
	Sealed []byte
}

// The reasons why a search has failed.
const (
	SearchUnavailable = "unavailable"
	SearchMaxUses     = "max_uses_exceeded"
)

// AppendPages appends the block of what a search has found. id is the call's.
func AppendPages(dst []byte, id string, pages []Page) []byte {
	dst = append(appendResult(dst, typeSearchResult, id), `,"content":[`...)
	for i := range pages {
		if i > 0 {
			dst = append(dst, ',')
		}
		p := &pages[i]
		dst = rawjson.AppendString(append(dst, `{"type":"web_search_result","url":`...), p.URL)
		dst = rawjson.AppendString(append(dst, `,"title":`...), p.Title)
		dst = rawjson.AppendString(append(dst, `,"encrypted_content":`...), rawjson.View(p.Sealed))
		dst = append(dst, `,"page_age":null}`...)
	}
	return append(dst, "]}"...)
}

// AppendSearchFailed appends the block of a search that has failed for a reason.
func AppendSearchFailed(dst []byte, id, reason string) []byte {
	dst = append(appendResult(dst, typeSearchResult, id), `,"content":{"type":"web_search_tool_result_error",`...)
	dst = append(dst, `"error_code":`...)
	return append(rawjson.AppendString(dst, reason), "}}"...)
}

// AppendMCPResult appends the block of what a tool of an MCP server has returned.
func AppendMCPResult(dst []byte, id, text string, failed bool) []byte {
	dst = appendResult(dst, typeMCPResult, id)
	if failed {
		dst = append(dst, `,"is_error":true`...)
	} else {
		dst = append(dst, `,"is_error":false`...)
	}
	dst = rawjson.AppendString(append(dst, `,"content":[{"type":"text","text":`...), text)
	return append(dst, "}]}"...)
}

// appendResult appends the block of a result up to its content.
func appendResult(dst []byte, kind, id string) []byte {
	dst = rawjson.AppendString(append(dst, `{"type":`...), kind)
	return rawjson.AppendString(append(dst, `,"tool_use_id":`...), id)
}

// AppendCitation appends a citation of a page that was read. What of the page is cited is not known.
func AppendCitation(dst []byte, url, title string) []byte {
	dst = rawjson.AppendString(append(dst, `{"type":"web_search_result_location","url":`...), url)
	dst = rawjson.AppendString(append(dst, `,"title":`...), title)
	return append(dst, `,"encrypted_index":"","cited_text":""}`...)
}
