package browse

import (
	"strings"
	"unicode/utf8"
)

// Found is a page that a result shows: one that was opened, or one that a search has found.
type Found struct{ URL, Title string }

// maxFound is how many pages of one result are told.
const maxFound = 32

// PagesOf returns the pages that a call's result shows. url is the page's that was opened, or empty. Of the pages that
// a search has found a result names the titles and the sites, and no more: the site's address stands for the page's.
func PagesOf(call Call, result, url string) []Found {
	h, ok := readHead(result)
	if url != "" {
		title, named := h.before(url)
		if title = cleanTitle(title); !named || title == "" {
			title = site(url)
		}
		return []Found{{url, title}}
	}
	if !ok || call.read().tool != toolSearch {
		return nil
	}
	return h.found()
}

// found returns the pages of which a page of search results has links: 【3†title†site】. A link may be broken over lines.
func (h head) found() (found []Found) {
	rest := unbroken(h.lines)
	for len(found) < maxFound {
		_, after, opened := strings.Cut(rest, string(openMark))
		link, more, closed := strings.Cut(after, string(closeMark))
		if !opened || !closed {
			break
		}
		rest = more
		number, text, named := strings.Cut(link, string(crossMark))
		at := strings.LastIndex(text, string(crossMark))
		if _, numbered := cursorOf(number); !numbered || !named || at < 0 {
			continue
		}
		url, valid := address("https://" + text[at+utf8.RuneLen(crossMark):])
		title := cleanTitle(text[:at])
		if valid && title != "" {
			found = append(found, Found{url, title})
		}
	}
	return found
}

// unbroken returns lines without their numbers and ends.
func unbroken(lines string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(lines, "\n") {
		if head, text, numbered := strings.Cut(line, ": "); numbered && strings.HasPrefix(head, "L") {
			line = text
		}
		b.WriteString(line)
		b.WriteByte(' ')
	}
	return b.String()
}
