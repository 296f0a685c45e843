package toolsearch

import (
	"strings"
	"unicode"
)

// words returns the words of a text, with a space between them, as the index reads them. A name of several words is
// followed by each of them: listOrders is listOrders, list and Orders. A character of a script without spaces is a
// word.
func words(text string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isWord(r) }) {
		writeWord(&b, word)
	}
	return b.String()
}

func isWord(r rune) bool {
	return r != unicode.ReplacementChar && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r))
}

// writeWord writes a run of letters and digits.
func writeWord(b *strings.Builder, run string) {
	parts := split(run)
	if len(parts) > 1 && !spaceless(run) {
		b.WriteString(run)
		b.WriteByte(' ')
	}
	for _, part := range parts {
		b.WriteString(part)
		b.WriteByte(' ')
	}
}

// split returns the parts of a run: before a capital that a small letter stands beside, and around each character of a
// script without spaces.
func split(run string) (parts []string) {
	runes, from := []rune(run), 0
	for i := 1; i < len(runes); i++ {
		before, r := runes[i-1], runes[i]
		small := i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if unicode.IsUpper(r) && (unicode.IsLower(before) || unicode.IsUpper(before) && small) || dense(before) || dense(r) {
			parts = append(parts, string(runes[from:i]))
			from = i
		}
	}
	return append(parts, string(runes[from:]))
}

// dense reports whether a character is of a script that has no spaces between words.
func dense(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

func spaceless(run string) bool { return strings.ContainsFunc(run, dense) }

// The limits of a question. Models ask with a few words.
const (
	maxTerms  = 32
	maxLength = 64
)

// common are words that say nothing of what a tool does. In a short list of texts even these are rare.
const common = " a an and any are as at be by can do for from how i in into is it me my of on or so that the this to " +
	"tool tools use what which with you "

// question returns the question in the language of the index: any of its words, each once. Common words only count if
// there are no others. It is empty without a word.
func question(text string) string {
	var terms, weak []string
	seen := map[string]bool{}
	for term := range strings.FieldsSeq(words(clip(text))) {
		if term = strings.ToLower(term); seen[term] || len(term) > maxLength {
			continue
		}
		seen[term] = true
		if quoted := `"` + term + `"`; strings.Contains(common, " "+term+" ") {
			weak = append(weak, quoted)
		} else if terms = append(terms, quoted); len(terms) == maxTerms {
			break
		}
	}
	if len(terms) == 0 {
		terms = weak
	}
	return strings.Join(terms, " OR ")
}

// clip returns the beginning of a text, which has more than enough words.
func clip(text string) string { return text[:min(len(text), 2*maxTerms*maxLength)] }
