package toolservers

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer/o200k"
)

const (
	// viewTokens is how many tokens of a page are shown at once.
	viewTokens = 1024
	// longestToken is the size of the longest token, in characters.
	longestToken = 128
	// longestURL is how many characters of a URL are shown.
	longestURL = 1024
)

// view returns lines of a page as the model sees them, from loc on. Without a number of lines, as many are shown as
// have viewTokens tokens.
func view(page *WebPage, cursor, loc, count int) (string, error) {
	lines := wrapLines(page.Text)
	if loc >= len(lines) {
		return "", fmt.Errorf("Invalid location parameter: `%d`. Cannot exceed page maximum of %d.", loc, len(lines)-1)
	}
	numbered := make([]string, len(lines)-loc)
	for i := range numbered {
		numbered[i] = fmt.Sprintf("L%d: %s", loc+i, lines[loc+i])
	}
	if count <= 0 {
		count = fitting(strings.Join(numbered, "\n"), len(lines))
	}
	end := min(loc+count, len(lines))
	head := page.Title
	if url := truncate(unquote(page.URL), longestURL); url != "" {
		head += " (" + url + ")"
	}
	return fmt.Sprintf("[%d] %s\n**viewing lines [%d - %d] of %d**\n\n%s", cursor, head, loc, end-1, len(lines)-1,
		strings.Join(numbered[:end-loc], "\n")), nil
}

// fitting returns how many lines of a text are shown: those that begin within its first viewTokens tokens. all is what
// it returns for a short text.
func fitting(text string, all int) int {
	if utf8.RuneCountInString(text) <= viewTokens {
		return all
	}
	ids := o200k.Tokenizer().AppendEncode(nil, string(firstRunes(text, (viewTokens+1)*longestToken)))
	if len(ids) <= viewTokens {
		return all
	}
	characters := 0
	for _, id := range ids[:viewTokens] {
		token, _ := o200k.Tokenizer().TokenBytes(id)
		characters += decodedLength(token)
	}
	return strings.Count(string(firstRunes(text, characters)), "\n") + 1
}

// decodedLength returns how many characters Python makes of a token's bytes: one of a character without an end.
func decodedLength(token []byte) int {
	n := 0
	for len(token) > 0 {
		if !utf8.FullRune(token) {
			return n + 1
		}
		_, size := utf8.DecodeRune(token)
		token = token[size:]
		n++
	}
	return n
}

func firstRunes(s string, n int) []rune {
	r := []rune(s)
	return r[:min(n, len(r))]
}

// truncate shortens a text to n characters, the last of which say so.
func truncate(s string, n int) string {
	if utf8.RuneCountInString(s) > n {
		s = string(firstRunes(s, n-3)) + "..."
	}
	return s
}
