package browse

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// known has pages 0 (search results), 1 (with brackets), 2 and 30, 31 (with an IPv6 address and a port).
func known() *Pages {
	var p Pages
	p.Shown(call("search", `{"query":"q"}`), page1(0, "q", ""))
	for cursor, url := range map[int]string{1: "https://en.wikipedia.org/wiki/Tea_(drink)", 2: "http://b.example",
		30: "https://c.example/é?x=[1]", 31: "https://[2001:db8::1]:8443/"} {
		p.Shown(call("open", `{"id":"`+url+`"}`), page1(cursor, fmt.Sprintf("Page %d (%s)", cursor, url), ""))
	}
	return &p
}

const (
	link1  = " ([en.wikipedia.org](https://en.wikipedia.org/wiki/Tea_%28drink%29)) "
	link2  = " ([b.example](http://b.example)) "
	link30 = " ([c.example](https://c.example/%C3%A9?x=%5B1%5D)) "
	link31 = " ([2001:db8::1:8443](https://[2001:db8::1]:8443/)) "
)

func TestCite(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "Tea.": "Tea.",
		"Tea【1†L5】.":                "Tea" + link1 + ".",
		"é😀【2†L5-L7】【1†L1, L9-L10】": "é😀" + link2 + link1,
		"【30†L1†c.example】":         link30,
		"【31†L1】":                   link31,
		"【001†L1】":                  link1,
		// Unknown pages, and those without a URL.
		"【3†L5】【0†L1】【4294967297†L1】": "【3†L5】【0†L1】【4294967297†L1】",
		"【99999999999999999999†L1】":   "【99999999999999999999†L1】",
		// These are no citations.
		"【1】【†L1】【a†L1】【1†】【1†L】【-1†L1】": "【1】【†L1】【a†L1】【1†】【1†L】【-1†L1】",
		"【1†Tea†en.wikipedia.org】":       "【1†Tea†en.wikipedia.org】",
		"【1†source】":                     "【1†source】",
		"【1†L1††】【1†L1†】【1†L1†a†b】":      "【1†L1††】【1†L1†】【1†L1†a†b】",
		"【1†L1\n】":                       "【1†L1\n】",
		"】†【":                            "】†【",
		// One begins within another.
		"【1†L【2†L5】":     "【1†L" + link2,
		"【【1†L1】】":       "【" + link1 + "】",
		"【3†L5【2†L5】】":   "【3†L5" + link2 + "】",
		"\xff【2†L1】\xe3": "\ufffd" + link2 + "\ufffd",
	} {
		got, cited := Cite(known(), text)
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		checkCited(t, got, cited)
	}
	if got, cited := Cite(nil, "【1†L1】"); got != "【1†L1】" || cited != nil {
		t.Error("without pages:", got, cited)
	}
}

func TestCitation(t *testing.T) {
	_, cited := Cite(known(), "é😀【2†L5】 and【30†L1】")
	want := []Citation{{2, 35, "http://b.example", "Page 2"}, {39, 90, "https://c.example/%C3%A9?x=%5B1%5D", "Page 30"}}
	if !slices.Equal(cited, want) {
		t.Errorf("%+v, want %+v", cited, want)
	}
	text, err := want[0].MarshalJSON()
	if string(text) != `{"type":"url_citation","start_index":2,"end_index":35,"url":"http://b.example","title":"Page 2"}` {
		t.Error(string(text), err)
	}
}

// checkCited fails unless each citation is where a link is, one after the other.
func checkCited(t *testing.T, text string, cited []Citation) {
	t.Helper()
	characters, end := []rune(text), 0
	for _, c := range cited {
		if c.Start < end || c.End <= c.Start || c.End > len(characters) ||
			string(characters[c.Start:c.End]) != linkTo(c.URL) {
			t.Errorf("no link at %+v of %q", c, text)
			return
		}
		end = c.End
		checkCitation(t, c)
	}
}

// TestHoldsLittle has markers without an end. At no time is more held back than a marker may be long.
func TestHoldsLittle(t *testing.T) {
	for _, text := range []string{"【1†L1" + strings.Repeat("x", 300), "【1†L1†" + strings.Repeat("é", 300),
		"【" + strings.Repeat("0", 300), strings.Repeat("【1†L1", 100), strings.Repeat("【", 300)} {
		c, taken, returned := NewCiter(known()), 0, 0
		for _, r := range text {
			out, _ := c.Write(string(r))
			taken++
			returned += utf8.RuneCountInString(out)
			if taken-returned > maxHeld {
				t.Fatalf("%d characters of %.20q are held back", taken-returned, text)
			}
		}
	}
	marker := "【2†L1" + strings.Repeat("x", maxHeld-6) + "】"
	if got, cited := Cite(known(), marker); len(cited) != 1 {
		t.Errorf("%d characters: %q", utf8.RuneCountInString(marker), got)
	}
	marker = "【2†L1" + strings.Repeat("x", maxHeld-5) + "】"
	if got, _ := Cite(known(), marker); got != marker {
		t.Errorf("%d characters: %q", utf8.RuneCountInString(marker), got)
	}
}

// TestLinksAreBounded has an answer of nothing but markers of a page with a long URL.
func TestLinksAreBounded(t *testing.T) {
	var p Pages
	url := "https://a.example/" + strings.Repeat("x", 2000)
	p.Shown(call("open", `{"id":"`+url+`"}`), page1(1, "T ("+cut(url)+")", "L0: x"))
	text := strings.Repeat("【1†L1】", 1000)
	got, cited := Cite(&p, text)
	if len(got) > len(text)+maxLinked || len(cited) != maxLinked/len(linkTo(url)) {
		t.Errorf("%d bytes became %d, with %d citations", len(text), len(got), len(cited))
	}
}

// plainMarkers is what a Citer reads, as an expression.
var plainMarkers = regexp.MustCompile(`【(0*\d{1,9})†L\d[^†【】\x00-\x1f]*(?:†[^†【】\x00-\x1f]+)?】`)

// plainCite does what [Cite] does, in a simple way. It is what the fuzzer compares with.
func plainCite(p *Pages, text string) (string, []Citation) {
	text = string([]rune(text))
	var out strings.Builder
	var cited []Citation
	last := 0
	for _, m := range plainMarkers.FindAllStringSubmatchIndex(text, -1) {
		cursor, err := strconv.Atoi(strings.TrimLeft(text[m[2]:m[3]], "0"))
		if err != nil {
			cursor = 0
		}
		shown := p.at(cursor)
		if shown == nil || shown.url == "" || utf8.RuneCountInString(text[m[0]:m[1]]) > maxHeld {
			continue
		}
		out.WriteString(text[last:m[0]])
		start := utf8.RuneCountInString(out.String())
		out.WriteString(linkTo(shown.url))
		cited = append(cited, Citation{start, utf8.RuneCountInString(out.String()), shown.url, shown.title})
		last = m[1]
	}
	out.WriteString(text[last:])
	return out.String(), cited
}
