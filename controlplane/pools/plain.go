package pools

import (
	"bytes"
	"strings"

	"github.com/harmonyedge/harmonyedge/operator/config"
)

// list is the content of a file of servers.
type list struct {
	endpoints []config.Endpoint
	// known has the endpoint of each URL as it is spelt in the file, so that the next reading parses only new ones. It is
	// empty if the YAML parser read the file.
	known map[string]config.Endpoint
}

// readPlain reads a file as most programs write it: each line is an entry, a comment or empty, or the whole is an array
// of strings in double quotes without escapes. It returns false for any other file and for any mistake. Then the YAML
// parser reads the file, which takes five times as long (RATIONALE.md#107).
//
// before is the last reading. A URL means the same in each reading, so one that is known is not parsed again.
func readPlain(data []byte, before list) (list, bool) {
	next := list{
		endpoints: make([]config.Endpoint, 0, len(before.endpoints)+1),
		known:     make(map[string]config.Endpoint, len(before.endpoints)+1),
	}
	seen := make(map[config.Endpoint]bool, len(before.endpoints)+1)
	take := func(url string) bool {
		e, ok := before.known[url]
		if !ok {
			// The endpoint holds a part of the text. A copy keeps it from holding the whole file.
			var err error
			if e, err = config.ParseURL(strings.Clone(url)); err != nil {
				return false
			}
		}
		if seen[e] {
			return false
		}
		seen[e], next.known[url] = true, e
		next.endpoints = append(next.endpoints, e)
		return true
	}
	text := strings.TrimPrefix(string(data), "---\n")
	if strings.HasPrefix(text, "[") {
		return next, readArray(text[1:], take)
	}
	return next, readLines(text, take) && len(next.endpoints) > 0
}

// readLines passes the entries of a YAML list to take, in which each entry has a line. It returns false if there is
// anything else in the text, or if take does.
func readLines(text string, take func(url string) bool) bool {
	column := -1 // of the entries' dashes
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		entry := strings.TrimLeft(line, " ")
		if isComment(entry) {
			continue
		}
		url, ok := strings.CutPrefix(entry, "- ")
		if at := len(line) - len(entry); !ok || column >= 0 && at != column {
			return false
		} else {
			column = at
		}
		url, rest := cutURL(strings.TrimLeft(url, " "))
		after := strings.TrimLeft(rest, " ")
		// Without a space a # is a part of the entry.
		if url == "" || !isComment(after) || after != "" && len(after) == len(rest) || !take(url) {
			return false
		}
	}
	return true
}

// isComment reports whether a text is empty, or a comment of printable characters.
func isComment(text string) bool {
	if text != "" && text[0] != '#' {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// readArray passes the strings of an array, after its bracket, to take.
func readArray(text string, take func(url string) bool) bool {
	const space = " \n\t"
	text = strings.TrimLeft(text, space)
	for first := true; !strings.HasPrefix(text, "]"); first = false {
		if !first {
			var ok bool
			if text, ok = strings.CutPrefix(text, ","); !ok {
				return false
			}
			text = strings.TrimLeft(text, space)
		}
		if !strings.HasPrefix(text, `"`) {
			return false
		}
		url, rest := cutURL(text)
		if url == "" || !take(url) {
			return false
		}
		text = strings.TrimLeft(rest, space)
	}
	return strings.TrimLeft(text[1:], space) == ""
}

// cutURL cuts a URL from the beginning of a text, with quotes around it or without. It returns "" if the text begins
// otherwise, or has a character that YAML could take for something else.
func cutURL(text string) (url, rest string) {
	quote := ""
	if text != "" && (text[0] == '"' || text[0] == '\'') {
		quote, text = text[:1], text[1:]
	}
	n := 0
	for n < len(text) && inURL[text[n]] {
		n++
	}
	url, rest = text[:n], text[n:]
	rest, ok := strings.CutPrefix(rest, quote)
	// A colon at the end makes a text without quotes the key of a mapping.
	if !ok || strings.HasSuffix(url, ":") {
		return "", ""
	}
	return url, rest
}

// inURL has the characters of a URL of http that mean nothing else inside a scalar of YAML.
var inURL = func() (in [256]bool) {
	for c := range in {
		in[c] = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			bytes.IndexByte([]byte("-._:/[]"), byte(c)) >= 0
	}
	return in
}()
