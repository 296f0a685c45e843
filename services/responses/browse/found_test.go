package browse

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestPagesOf(t *testing.T) {
	const view = "\n**viewing lines [0 - 3] of 3**\n\n"
	search := Call{Name: "browser.search", Arguments: json.RawMessage(`{"query":"tea"}`)}
	open := Call{Name: "browser.open", Arguments: json.RawMessage(`{"id":0}`)}
	for name, tt := range map[string]struct {
		call        Call
		result, url string
		want        []Found
	}{
		"links": {search, "[0] tea (web-search://ts=1)" + view + "L0: \nL1: # Search Results\n" +
			"L2:   * 【0†Tea (drink)†tea.example】 a\n" +
			"L3:   * 【1†A long\nL4: title†of it†b.example:8080】", "",
			[]Found{{"https://tea.example", "Tea (drink)"}, {"https://b.example:8080", "A long title†of it"}}},
		"no links of pages": {search, "[0] tea" + view + "L0: 【a†b†c.example】【1†no site】【2††c.example】【3†x†no host】【4†open",
			"", nil},
		"no page": {search, "Error during search: 【0†a†b.example】", "", nil},
		"an opened page": {open, "[1] Tea (https://tea.example/a)" + view + "L0: 【0†a†b.example】", "https://tea.example/a",
			[]Found{{"https://tea.example/a", "Tea"}}},
		"an opened page without a title": {open, "[1] x" + view, "https://tea.example/a",
			[]Found{{"https://tea.example/a", "tea.example"}}},
		"a page that is not known": {open, "[1] Tea" + view + "L0: 【0†a†b.example】", "", nil},
		"many": {search, "[0] tea" + view + strings.Repeat("L0: 【0†a†b.example】\n", 5000), "",
			repeated(Found{"https://b.example", "a"}, maxFound)},
	} {
		if got := PagesOf(tt.call, tt.result, tt.url); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func repeated(f Found, n int) (all []Found) {
	for range n {
		all = append(all, f)
	}
	return all
}
