// Package browse reads what gpt-oss's browser shows: which page a cursor is, what a call of the browser did, and which
// pages a final text cites.
//
// It knows the texts of the browser's results, web_search_call's actions and url_citation. It does not know the
// service, its store, MCP or HTTP.
package browse
