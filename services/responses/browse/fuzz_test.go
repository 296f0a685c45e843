package browse

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzCiter cuts a text in two at every byte, and into single bytes. All give the same text and citations as the whole,
// and as an expression.
func FuzzCiter(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 512 {
			return
		}
		p := known()
		want, cited := Cite(p, text)
		if plain, plainCited := plainCite(p, text); want != plain || !slices.Equal(cited, plainCited) {
			t.Fatalf("%q %+v, by the expression %q %+v", want, cited, plain, plainCited)
		}
		checkCited(t, want, cited)
		pieces := func(list ...string) {
			c := NewCiter(p)
			var out strings.Builder
			var got []Citation
			for _, piece := range list {
				text, cited := c.Write(piece)
				out.WriteString(text)
				got = append(got, cited...)
				if n := utf8.RuneCountInString(out.String()); len(got) > 0 && got[len(got)-1].End > n {
					t.Fatalf("a citation of text that has not come: %+v after %d characters", got, n)
				}
			}
			out.WriteString(c.End())
			if out.String() != want || !slices.Equal(got, cited) {
				t.Fatalf("pieces %q give %q %+v, the whole %q %+v", list, out.String(), got, want, cited)
			}
		}
		for at := range len(text) {
			pieces(text[:at], text[at:])
		}
		single := make([]string, len(text))
		for i := range single {
			single[i] = text[i : i+1]
		}
		pieces(single...)
	})
}

// FuzzShown has any call and result after a search and a page. Every action is one of OpenAI's, every page's URL is one
// of the web, and none can end its link.
func FuzzShown(f *testing.F) {
	f.Add("open", `{"id":1}`, page1(2, "T (https://a.example/x)", "L0: \nL1: URL: https://a.example/x"))
	f.Add("open", `{"id":"https://a.example/"}`, page1(1, "T (https://a.example/)", "L0: \nL1: x"))
	f.Add("open", `{"cursor":1,"loc":9}`, page1(2, "P (https://a.example/)", "L9: x"))
	f.Add("find", `{"pattern":"x"}`, page1(3, "Find (https://a.example//find?pattern=x)", ""))
	f.Add("search", `{"query":"\ud800"}`, searched)
	f.Fuzz(func(t *testing.T, name, arguments, result string) {
		var p Pages
		p.Shown(call("search", `{"query":"q"}`), page1(0, "q", ""))
		p.Shown(call("open", `{"id":"https://a.example/"}`), page1(1, "P (https://a.example/)", ""))
		c := call(name, arguments)
		checkAction(t, p.Asked(c))
		checkAction(t, p.Shown(c, result))
		for cursor, shown := range p.pages {
			if !utf8.ValidString(shown.title) || utf8.RuneCountInString(shown.title) > maxTitle {
				t.Errorf("the title of page %d: %q", cursor, shown.title)
			}
			if shown.url == "" {
				continue
			}
			u, err := url.Parse(shown.url)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
				len(shown.url) > maxURL {
				t.Errorf("the URL of page %d: %q, %v", cursor, shown.url, err)
			}
			link, ok1 := strings.CutPrefix(linkTo(shown.url), " ([")
			link, ok2 := strings.CutSuffix(link, ")) ")
			domain, target, ok3 := strings.Cut(link, "](")
			if !ok1 || !ok2 || !ok3 || strings.ContainsAny(domain, "[]()<>\\`*! \n") ||
				strings.ContainsAny(target, "()<>\\\"` \n") {
				t.Errorf("a link that can end early: %q", linkTo(shown.url))
			}
		}
	})
}
