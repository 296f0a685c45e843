package lark

import (
	"slices"
	"unicode/utf8"
)

// span is a range of characters, both ends included.
type span struct{ from, to rune }

// everything is every character.
var everything = []span{{0, utf8.MaxRune}}

// The classes that have an escape, and the dot. They are ASCII's.
var (
	digits   = []span{{'0', '9'}}
	wordly   = []span{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	spaces   = []span{{'\t', '\r'}, {' ', ' '}}
	lineEnds = []span{{'\n', '\n'}}
)

// normalized returns a set as sorted spans with gaps between them. It changes set.
func normalized(set []span) []span {
	slices.SortFunc(set, func(a, b span) int { return int(a.from) - int(b.from) })
	out := set[:0]
	for _, s := range set {
		if last := len(out) - 1; last >= 0 && s.from <= out[last].to+1 {
			out[last].to = max(out[last].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// complement returns the characters that are not in a normalized set.
func complement(set []span) []span {
	out := make([]span, 0, len(set)+1)
	next := rune(0)
	for _, s := range set {
		if s.from > next {
			out = append(out, span{next, s.from - 1})
		}
		next = s.to + 1
	}
	if next <= utf8.MaxRune {
		out = append(out, span{next, utf8.MaxRune})
	}
	return out
}

// bounded returns a set whose bounds are not surrogates, which have no spelling.
func bounded(set []span) []span {
	out := make([]span, 0, len(set))
	for _, s := range set {
		if s.from >= 0xD800 && s.from < 0xE000 {
			s.from = 0xE000
		}
		if s.to >= 0xD800 && s.to < 0xE000 {
			s.to = 0xD7FF
		}
		if s.from <= s.to {
			out = append(out, s)
		}
	}
	return out
}

// without returns a set without a character at the bound of a span, and reports whether there was one.
func without(set []span, c rune) (rest []span, found bool) {
	rest = make([]span, 0, len(set))
	for _, s := range set {
		switch {
		case s.from == c:
			s.from, found = c+1, true
		case s.to == c:
			s.to, found = c-1, true
		}
		if s.from <= s.to {
			rest = append(rest, s)
		}
	}
	return rest, found
}

// bothCases adds the other case of the ASCII letters in a set.
func bothCases(set []span) []span {
	for _, s := range set {
		for _, c := range [...]struct{ from, to, shift rune }{{'a', 'z', 'A' - 'a'}, {'A', 'Z', 'a' - 'A'}} {
			if from, to := max(s.from, c.from), min(s.to, c.to); from <= to {
				set = append(set, span{from + c.shift, to + c.shift})
			}
		}
	}
	return set
}

// onlyRune returns the character of a text that has one.
func onlyRune(s string) (rune, bool) {
	c, size := utf8.DecodeRuneInString(s)
	return c, size > 0 && size == len(s)
}

// isEverything reports whether a set has every character.
func isEverything(set []span) bool { return slices.Equal(set, everything) }
