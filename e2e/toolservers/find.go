package toolservers

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Links in a page's text, whole ones and ones that are cut.
var (
	wholeLink = regexp.MustCompile(`【\d+†([^†】]+)(?:†[^†】]+)?】`)
	linkEnd   = regexp.MustCompile(`^[^【】]*】`)
	linkStart = regexp.MustCompile(`【\d*(?:†([^†】]*)(?:†[^†】]*)?)?$`)
)

const (
	maxFound  = 50
	foundSize = 4 // lines
)

// find returns the page with the places of a pattern, which is in lower case, in a page.
func find(page *WebPage, pattern string) *WebPage {
	text := strings.Join(wrapLines(page.Text), "\n")
	text = linkEnd.ReplaceAllString(text, "")
	text = linkStart.ReplaceAllString(text, "$1")
	text = wholeLink.ReplaceAllString(text, "$1")
	lines := strings.Split(text, "\n")

	found := &WebPage{
		URL:   page.URL + "/find?pattern=" + quoteAll(pattern),
		Title: fmt.Sprintf("Find results for text: `%s` in `%s`", pattern, page.Title),
		Links: map[string]string{}, snippets: map[string]int{}, found: true,
	}
	var places []string
	for i := 0; i < len(lines) && len(places) < maxFound; {
		if !strings.Contains(strings.ToLower(lines[i]), pattern) {
			i++
			continue
		}
		id := strconv.Itoa(len(places))
		places = append(places, fmt.Sprintf("# 【%s†match at L%d】\n%s", id, i,
			strings.Join(lines[i:min(i+foundSize, len(lines))], "\n")))
		found.Links[id], found.snippets[id] = page.URL, i
		i += foundSize
	}
	found.Text = strings.Join(places, "\n\n")
	if len(places) == 0 {
		found.Text = fmt.Sprintf("No `find` results for pattern: `%s`", pattern)
	}
	return found
}

// quoteAll quotes as Python's quote does, but for letters, digits and "_.-~/".
func quoteAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_.-~/", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// unquote takes the quoting out of a URL, as Python's unquote does.
func unquote(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}
