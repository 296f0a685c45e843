package browse

import (
	"strconv"
	"strings"
)

// head is what stands above the lines of a page:
//
//	[3] Title (https://example.com/page)
//	**viewing lines [0 - 41] of 99**
//
// A page of search results has no URL. The URL is unquoted and cut after 1024 characters, so it can differ from the
// page's own.
type head struct {
	cursor int
	// title is everything between the cursor and the second line, so also the URL. Both are a web page's own, and each may
	// look like the other.
	title string
	// lines are the page's lines, numbered by the browser.
	lines string
}

// maxHead is the size of the longest title with its URL, in bytes.
const maxHead = 16 << 10

// Cursor returns the cursor of the page that a result shows, and reports whether it shows one.
func Cursor(result string) (int, bool) {
	h, ok := readHead(result)
	return h.cursor, ok
}

// readHead returns the head of a result, and reports whether it has one: errors have none.
func readHead(result string) (head, bool) {
	rest, ok := strings.CutPrefix(result, "[")
	if !ok {
		return head{}, false
	}
	digits, rest, ok := strings.Cut(rest, "] ")
	cursor, valid := cursorOf(digits)
	if !ok || !valid {
		return head{}, false
	}
	// A title may have line breaks, and so a second line of its own. The browser's is the last: it writes a number before
	// every line of the page.
	const start, end = "\n**viewing lines [", "**\n\n"
	at := strings.LastIndex(rest, start)
	if at < 0 || at > maxHead {
		return head{}, false
	}
	view, lines, ok := strings.Cut(rest[at+len(start):], end)
	if !ok || !isView(view) {
		return head{}, false
	}
	return head{cursor: cursor, title: rest[:at], lines: lines}, true
}

// cursorOf returns the cursor that is written with these digits.
func cursorOf(digits string) (int, bool) {
	if len(digits) > len(strconv.Itoa(largest)) {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	return int(n), err == nil
}

// isView reports whether s is like "0 - 41] of 99".
func isView(s string) bool {
	first, s, ok1 := strings.Cut(s, " - ")
	last, all, ok2 := strings.Cut(s, "] of ")
	for _, n := range []string{first, last, all} {
		if _, ok := cursorOf(n); !ok {
			return false
		}
	}
	return ok1 && ok2
}

// before returns the title before a URL, and reports whether the head has that URL.
func (h head) before(url string) (title string, ok bool) {
	if title, ok = strings.CutSuffix(h.title, "("+cut(unquote(url))+")"); !ok {
		title, ok = strings.CutSuffix(h.title, "("+url+")")
	}
	return title, ok
}

// maxURLLines is over how many lines a URL may be broken.
const maxURLLines = 128

// firstLine returns the URL that the page's second line names, if the page is shown from its beginning and the head has
// the same URL. Lines of more than 80 characters are broken, and where the URL ends is not written: the head decides.
func (h head) firstLine() (url string, ok bool) {
	rest, ok := strings.CutPrefix(h.lines, "L0: \nL1: URL: ")
	if !ok {
		return "", false
	}
	var joined string
	for n := 2; n < maxURLLines && len(joined) <= maxURL; n++ {
		line, more, found := strings.Cut(rest, "\n")
		joined += line
		if _, ok := h.before(joined); ok {
			url = joined
		}
		if rest, ok = strings.CutPrefix(more, "L"+strconv.Itoa(n)+": "); !found || !ok {
			break
		}
	}
	return url, url != ""
}

// own returns the URL of the head alone. There is none if the title has something that might be one, or if the URL was
// cut.
func (h head) own() (url string, ok bool) {
	s, ok := strings.CutSuffix(h.title, ")")
	at := max(strings.LastIndex(s, "(http://"), strings.LastIndex(s, "(https://"))
	if !ok || at < 0 || strings.Count(s, "(http://")+strings.Count(s, "(https://") != 1 {
		return "", false
	}
	url = s[at+1:]
	return url, !strings.Contains(url, " (") && !isCut(url)
}
