package lark

import (
	"strings"
	"unicode/utf8"
)

// regexReader reads a regular expression in the language that Python, Rust and ECMAScript have in common.
type regexReader struct {
	*grammar
	in string
	at int
	// anyCase and dotAll are the flags i and s.
	anyCase, dotAll bool
}

// regex reads a regular expression with its flags.
func (g *grammar) regex(pattern, flags string) (int, bool) {
	r := regexReader{grammar: g, in: pattern}
	for i := range len(flags) {
		switch flags[i] {
		case 'i':
			r.anyCase = true
		case 's':
			r.dotAll = true
		case 'm', 'u':
			// m is about anchors, which are refused. u is what every expression is.
		default:
			return none, g.fail(badFlag)
		}
	}
	at, ok := r.alternatives(0)
	if ok && r.at < len(r.in) {
		return none, g.fail(badRegex)
	}
	return at, ok
}

// alternatives reads up to the end of the expression or of a group.
func (r *regexReader) alternatives(depth int) (int, bool) {
	if depth > maxDepth {
		return none, r.fail(tooDeep)
	}
	var kids []int
	for {
		kid, ok := r.parts(depth)
		if !ok {
			return none, false
		}
		kids = append(kids, kid)
		if r.at == len(r.in) || r.in[r.at] != '|' {
			return r.alternative(kids)
		}
		r.at++
	}
}

// parts reads parts that follow each other.
func (r *regexReader) parts(depth int) (int, bool) {
	var kids []int
	for r.at < len(r.in) && r.in[r.at] != '|' && r.in[r.at] != ')' {
		kid, ok := r.part(depth)
		if ok {
			kid, ok = r.repeated(kid)
		}
		if !ok {
			return none, false
		}
		kids = append(kids, kid)
	}
	return r.sequence(kids)
}

func (r *regexReader) part(depth int) (int, bool) {
	switch rest := r.in[r.at:]; rest[0] {
	case '(':
		return r.group(depth)
	case '[':
		return r.set()
	case '.':
		r.at++
		if r.dotAll {
			return r.class(append([]span(nil), everything...), false)
		}
		return r.class(append([]span(nil), lineEnds...), true)
	case '^', '$':
		return none, r.fail(badAnchor)
	case '\\':
		if set := namedSet(rest); set != nil {
			r.at += 2
			return r.class(set, false)
		}
	}
	return r.literal()
}

// namedSet returns the set of an escape such as \d with which s begins, or nil.
func namedSet(s string) []span {
	if len(s) < 2 || s[0] != '\\' {
		return nil
	}
	var set []span
	switch s[1] | 0x20 {
	case 'd':
		set = digits
	case 'w':
		set = wordly
	case 's':
		set = spaces
	default:
		return nil
	}
	if s[1] < 'a' {
		return complement(set)
	}
	return append([]span(nil), set...)
}

// group reads a group, of which only the extent counts.
func (r *regexReader) group(depth int) (int, bool) {
	if r.at++; strings.HasPrefix(r.in[r.at:], "?") {
		size := groupHead(r.in[r.at:])
		if size == 0 {
			return none, r.fail(badGroup)
		}
		r.at += size
	}
	kid, ok := r.alternatives(depth + 1)
	if !ok {
		return none, false
	}
	if r.at == len(r.in) {
		return none, r.fail(badRegex)
	}
	r.at++
	return kid, true
}

// groupHead returns the length of "?:", "?P<name>" or "?<name>", or zero.
func groupHead(s string) int {
	if strings.HasPrefix(s, "?:") {
		return 2
	}
	at := 2
	if strings.HasPrefix(s, "?P") {
		at = 3
	}
	if len(s) <= at || s[at-1] != '<' || !isLetter(s[at]) && s[at] != '_' {
		return 0
	}
	for ; at < len(s); at++ {
		if s[at] == '>' {
			return at + 1
		}
		if !isLetter(s[at]) && s[at] != '_' && (s[at] < '0' || s[at] > '9') {
			break
		}
	}
	return 0
}

// literal reads characters that stand for themselves. One that is repeated is a part of its own.
func (r *regexReader) literal() (int, bool) {
	if r.repeats() > 0 {
		return none, r.fail(badRegex)
	}
	var run []byte
	for {
		before := r.at
		c, ok := r.character(false)
		if !ok {
			return none, false
		}
		if r.anyCase {
			return r.class(bothCases([]span{{c, c}}), false)
		}
		if len(run) > 0 && r.repeats() > 0 {
			r.at = before
			break
		}
		run = utf8.AppendRune(run, c)
		if r.repeats() > 0 || !r.literally() {
			break
		}
	}
	return r.add(node{op: text, text: string(run)})
}

// literally reports whether the next character stands for itself.
func (r *regexReader) literally() bool {
	return r.at < len(r.in) && strings.IndexByte("|()[.^$", r.in[r.at]) < 0 && namedSet(r.in[r.at:]) == nil
}

// character reads one character, escaped or not.
func (r *regexReader) character(inClass bool) (rune, bool) {
	rest := r.in[r.at:]
	if rest == "" || rest == `\` || strings.HasPrefix(rest, "{,") && !inClass {
		return 0, r.fail(badRegex)
	}
	if rest[0] != '\\' {
		c, size := utf8.DecodeRuneInString(rest)
		r.at += size
		return c, (c != utf8.RuneError || size > 1) && c != '\n' || r.fail(badRegex)
	}
	switch c := rest[1]; {
	case c == 'x' || c == 'u' || c == 'U':
		value, size := hexadecimal(rest[1:])
		// Lark writes the character itself into the expression, where it may have a meaning.
		if size == 0 || strings.ContainsRune(`\]^-[`, value) || !inClass && strings.ContainsRune("{}().|*+?$", value) {
			return 0, r.fail(badEscape)
		}
		r.at += 1 + size
		return value, true
	case control(c) != 0:
		r.at += 2
		return rune(control(c)), true
	case strings.IndexByte("AZzbBG<>", c) >= 0:
		return 0, r.fail(badAnchor)
	case c >= '0' && c <= '9' || isLetter(c) || c < ' ':
		return 0, r.fail(badEscape)
	}
	c, size := utf8.DecodeRuneInString(rest[1:])
	r.at += 1 + size
	return c, c != utf8.RuneError || size > 1 || r.fail(badRegex)
}

// set reads a class in brackets.
func (r *regexReader) set() (int, bool) {
	r.at++
	negated := strings.HasPrefix(r.in[r.at:], "^")
	if negated {
		r.at++
	}
	var set []span
	for first := true; ; first = false {
		rest := r.in[r.at:]
		if rest == "" || len(set) > 4*maxSpans {
			return none, r.fail(badClass)
		}
		if rest[0] == ']' && !first {
			break
		}
		// Some engines have sets within sets.
		if rest[0] == '[' || len(rest) > 1 && rest[0] == rest[1] && strings.IndexByte("&~|-", rest[0]) >= 0 {
			return none, r.fail(badClass)
		}
		if named := namedSet(rest); named != nil {
			if r.at += 2; r.ranges() {
				return none, r.fail(badClass)
			}
			set = append(set, named...)
			continue
		}
		one, ok := r.characters()
		if !ok {
			return none, false
		}
		set = append(set, one)
	}
	r.at++
	if r.anyCase {
		set = bothCases(set)
	}
	return r.class(set, negated)
}

// ranges reports whether a dash comes next that makes a range.
func (r *regexReader) ranges() bool {
	rest := r.in[r.at:]
	return len(rest) > 1 && rest[0] == '-' && rest[1] != ']'
}

// characters reads one character of a class, or a range of them.
func (r *regexReader) characters() (span, bool) {
	from, ok := r.character(true)
	if !ok || !r.ranges() {
		return span{from, from}, ok
	}
	r.at++
	if namedSet(r.in[r.at:]) != nil {
		return span{}, r.fail(badClass)
	}
	to, ok := r.character(true)
	if ok && to < from {
		return span{}, r.fail(badClass)
	}
	return span{from, to}, ok
}

// repeats returns the length of the repetition that comes next, or zero.
func (r *regexReader) repeats() int {
	rest := r.in[r.at:]
	if rest == "" {
		return 0
	}
	if strings.IndexByte("*+?", rest[0]) >= 0 {
		return 1
	}
	size, _, _ := counted(rest)
	return size
}

// counted reads "{2}", "{2,}" or "{2,3}". size is its length, or zero.
func counted(s string) (size, from, to int) {
	if s[0] != '{' {
		return 0, 0, 0
	}
	end := strings.IndexByte(s[:min(len(s), maxCounted)], '}')
	if end < 2 {
		return 0, 0, 0
	}
	first, last, ranged := strings.Cut(s[1:end], ",")
	from, ok := decimalNumber(first)
	to = from
	if ranged && last == "" {
		to = unbounded
	} else if ranged && ok {
		to, ok = decimalNumber(last)
	}
	if !ok {
		return 0, 0, 0
	}
	return end + 1, from, to
}

// maxCounted is the greatest length of a repetition's bounds.
const maxCounted = 32

// decimalNumber reads a number. One beyond [maxRepeat] is the next after it.
func decimalNumber(s string) (n int, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = min(n*10+int(s[i]-'0'), maxRepeat+1)
	}
	return n, s != ""
}

// repeated reads how often a part is repeated.
func (r *regexReader) repeated(kid int) (int, bool) {
	size := r.repeats()
	if size == 0 {
		return kid, true
	}
	from, to := 0, unbounded
	switch r.in[r.at] {
	case '+':
		from = 1
	case '?':
		to = 1
	case '{':
		_, from, to = counted(r.in[r.at:])
	}
	r.at += size
	if r.repeats() > 0 {
		return none, r.fail(badRepeat)
	}
	return r.repetition(kid, from, to)
}
