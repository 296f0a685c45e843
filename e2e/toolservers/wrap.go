package toolservers

import (
	"strings"
	"unicode"
)

// lineWidth is how long the browser's lines are, in characters.
const lineWidth = 80

// wrapLines breaks a text into lines as Python's textwrap does it for the browser: no character is dropped, so the
// lines of a long one joined are the long one again.
func wrapLines(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			lines = append(lines, "")
			continue
		}
		lines = append(lines, wrapLine([]rune(expandTabs(line)))...)
	}
	return lines
}

// expandTabs puts spaces instead of tabs, up to the next multiple of eight.
func expandTabs(line string) string {
	if !strings.Contains(line, "\t") {
		return line
	}
	var b strings.Builder
	column := 0
	for _, r := range line {
		switch r {
		case '\t':
			n := 8 - column%8
			b.WriteString(strings.Repeat(" ", n))
			column += n
		case '\r':
			b.WriteRune(r)
			column = 0
		default:
			b.WriteRune(r)
			column++
		}
	}
	return b.String()
}

// wrapLine fills lines with chunks. One that is longer than a line is broken at its last hyphen that fits, or anywhere.
func wrapLine(line []rune) []string {
	var lines []string
	var current []rune
	for at := 0; at < len(line); {
		size := chunk(line, at)
		if len(current)+size <= lineWidth {
			current, at = append(current, line[at:at+size]...), at+size
			continue
		}
		for size > lineWidth {
			room := lineWidth - len(current)
			end := room
			if hyphen := lastHyphen(line[at : at+room]); hyphen > 0 {
				end = hyphen + 1
			}
			lines = append(lines, string(append(current, line[at:at+end]...)))
			current, at, size = nil, at+end, size-end
		}
		if len(current) > 0 {
			lines = append(lines, string(current))
		}
		current, at = append([]rune(nil), line[at:at+size]...), at+size
	}
	if len(current) > 0 {
		lines = append(lines, string(current))
	}
	return lines
}

// lastHyphen returns the index of the last hyphen with something else before it, or -1.
func lastHyphen(s []rune) int {
	for i := len(s) - 1; i > 0; i-- {
		if s[i] == '-' {
			if strings.Trim(string(s[:i]), "-") == "" {
				return -1
			}
			return i
		}
	}
	return -1
}

// chunk returns the size of the chunk that begins at an index: spaces, a word, the part of a word up to a hyphen, or a
// dash of several hyphens. The reading looks back over the whole line, as textwrap's expression does.
func chunk(line []rune, at int) int {
	end := at + 1
	if isBlank(line[at]) {
		for end < len(line) && isBlank(line[end]) {
			end++
		}
		return end - at
	}
	if at > 0 && isWordMark(line[at-1]) {
		if n := dash(line, at); n > 0 {
			return n
		}
	}
	for ; end < len(line) && !isBlank(line[end]); end++ {
		if line[end] == '-' && breaksAfter(line, end) {
			return end + 1 - at
		}
		if isWordMark(line[end-1]) && dash(line, end) > 0 {
			break
		}
	}
	return end - at
}

// dash returns the size of a dash of several hyphens before a word, or 0.
func dash(line []rune, at int) int {
	end := at
	for end < len(line) && line[end] == '-' {
		end++
	}
	if end-at < 2 || end == len(line) || !isWord(line[end]) {
		return 0
	}
	return end - at
}

// breaksAfter reports whether a word may be broken after the hyphen at an index.
func breaksAfter(line []rune, at int) bool {
	letter := func(i int) bool { return i >= 0 && i < len(line) && isWord(line[i]) && !unicode.IsDigit(line[i]) }
	hyphen := func(i int) bool { return i >= 0 && i < len(line) && line[i] == '-' }
	before := letter(at-1) && letter(at-2) || at > 0 && isWordMark(line[at-1]) && hyphen(at-2) && letter(at-3)
	after := letter(at+1) && (letter(at+2) || hyphen(at+2) && letter(at+3))
	return before && after
}

func isBlank(r rune) bool { return strings.ContainsRune("\t\n\v\f\r ", r) }

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

func isWordMark(r rune) bool { return isWord(r) || strings.ContainsRune("!\"'&.,?", r) }
