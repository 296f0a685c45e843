package translate

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// portable rewrites a regular expression in a form that every engine reads in the same way. xgrammar supports few
// constructs, and misreads others or fails the whole request. Groups lose their names, and a dot becomes "not a line
// end".
//
// portable reports whether there is such a form. There is none for flags, lookaround, word boundaries, Unicode classes,
// classes within classes and anchors elsewhere than at the ends, nor for an invalid expression, nor for one that costs
// a server too much.
func portable(pattern string) (string, bool) {
	r := patternReader{in: pattern}
	for r.at < len(r.in) {
		if !r.part() {
			return "", false
		}
	}
	return string(r.out), r.depth == 0
}

// The limits of nesting and of repetitions. An engine may be recursive.
const (
	maxPatternDepth = 32
	maxPatternCount = 1000
)

// patternReader reads a regular expression part by part and writes it again.
type patternReader struct {
	in    string
	at    int
	out   []byte
	depth int
	last  patternPart
}

// patternPart is the kind of the last part, which decides what may follow.
type patternPart uint8

const (
	nothing  patternPart = iota // nothing that can be repeated
	atom                        // a part that can be repeated
	repeated                    // a repeated part, which a ? makes lazy
	lazy
)

// put copies n bytes and sets the kind of the last part.
func (r *patternReader) put(n int, last patternPart) bool {
	r.out = append(r.out, r.in[r.at:r.at+n]...)
	r.at += n
	r.last = last
	return true
}

func (r *patternReader) part() bool {
	switch c := r.in[r.at]; c {
	case '\\':
		if r.at+1 == len(r.in) || !plainEscape(r.in[r.at+1]) {
			return false
		}
		return r.put(2, atom)
	case '[':
		return r.class()
	case '(':
		return r.group()
	case ')':
		r.depth--
		return r.depth >= 0 && r.put(1, atom)
	case '|':
		return r.put(1, nothing)
	case '*', '+', '?':
		if c == '?' && r.last == repeated {
			return r.put(1, lazy)
		}
		return r.last == atom && r.put(1, repeated)
	case '{':
		n := count(r.in[r.at:])
		return n > 0 && r.last == atom && r.put(n, repeated)
	case '.':
		r.out = append(r.out, `[^\n]`...)
		r.at++
		r.last = atom
		return true
	case '^':
		return r.at == 0 && r.put(1, nothing)
	case '$':
		return r.at == len(r.in)-1 && r.put(1, nothing)
	default:
		return !isControl(c) && r.put(1, atom)
	}
}

func isControl(c byte) bool { return c < ' ' || c == 0x7F }

// plainEscape reports whether a backslash before c means the same in every engine, for ASCII text. In some engines \w
// matches letters of every script, and \< is the beginning of a word.
func plainEscape(c byte) bool {
	return strings.IndexByte("dDwWsSnrtfv", c) >= 0 || isPunctuation(c) && c != '<' && c != '>'
}

func isPunctuation(c byte) bool {
	return c > ' ' && c < 0x7F && (c < '0' || c > '9' && c < 'A' || c > 'Z' && c < 'a' || c > 'z')
}

// group opens a group without its name.
func (r *patternReader) group() bool {
	rest := r.in[r.at+1:]
	if r.depth++; r.depth > maxPatternDepth {
		return false
	}
	if rest == "" || rest[0] != '?' {
		return r.put(1, nothing)
	}
	length := groupHead(rest)
	r.out = append(r.out, "(?:"...)
	r.at += 1 + length
	r.last = nothing
	return length > 0
}

// groupHead returns the length of a group's head after its bracket: "?:", "?<name>" or "?P<name>". It returns 0 for any
// other head.
func groupHead(rest string) int {
	if strings.HasPrefix(rest, "?:") {
		return 2
	}
	name, ok := strings.CutPrefix(rest, "?P<")
	if !ok {
		name, ok = strings.CutPrefix(rest, "?<")
	}
	end := strings.IndexByte(name, '>')
	if !ok || end < 1 {
		return 0
	}
	for i := 0; i < end; i++ {
		if c := name[i]; c != '_' && (c > 0x7F || c <= ' ' || isPunctuation(c)) {
			return 0
		}
	}
	return len(rest) - len(name) + end + 1
}

// count returns the length of a repetition: "{2}", "{2,}" or "{2,3}". It returns 0 if there is none, or if it exceeds
// [maxPatternCount].
func count(rest string) int {
	end := strings.IndexByte(rest, '}')
	if end < 0 {
		return 0
	}
	minimum, maximum, ranged := strings.Cut(rest[1:end], ",")
	from, ok := number(minimum)
	to := from
	if ranged && maximum != "" && ok {
		to, ok = number(maximum)
	}
	if !ok || from > to || to > maxPatternCount {
		return 0
	}
	return end + 1
}

// number reads a string of digits only.
func number(s string) (n int, ok bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// class copies a character class.
func (r *patternReader) class() bool {
	r.put(1, nothing)
	if r.at < len(r.in) && r.in[r.at] == '^' {
		r.put(1, nothing)
	}
	// from is the character that a range can begin with. There is none at the start, after a range, and after an escaped
	// class.
	const none = rune(-1)
	from := none
	for first := true; r.at < len(r.in); first = false {
		rest := r.in[r.at:]
		switch c := rest[0]; {
		case c == ']':
			return !first && r.put(1, atom)
		case c == '[', (c == '&' || c == '~' || c == '-') && len(rest) > 1 && rest[1] == c:
			return false
		case c == '-' && (first || strings.HasPrefix(rest, "-]")):
			from = none
			r.put(1, nothing)
		case c == '-':
			r.put(1, nothing)
			to, ok := r.character()
			if !ok || from == none || to < from {
				return false
			}
			from = none
		case c == '\\' && len(rest) > 1 && strings.IndexByte("dDwWsS", rest[1]) >= 0:
			from = none
			r.put(2, nothing)
		default:
			var ok bool
			if from, ok = r.character(); !ok {
				return false
			}
		}
	}
	return false
}

// character copies one character of a class, escaped or not.
func (r *patternReader) character() (rune, bool) {
	rest := r.in[r.at:]
	if strings.HasPrefix(rest, `\`) {
		if len(rest) < 2 {
			return 0, false
		}
		c := rest[1]
		if i := strings.IndexByte("nrtfv", c); i >= 0 {
			return rune("\n\r\t\f\v"[i]), r.put(2, nothing)
		}
		return rune(c), isPunctuation(c) && plainEscape(c) && r.put(2, nothing)
	}
	c, size := utf8.DecodeRuneInString(rest)
	if size == 0 || c == utf8.RuneError && size == 1 || size == 1 && (isControl(rest[0]) || c == '[' || c == ']') {
		return 0, false
	}
	return c, r.put(size, nothing)
}
