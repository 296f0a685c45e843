package lark

import "strings"

// expansions reads alternatives up to the end of the line, or of the group that they stand in. terminal reports whether
// they are in a terminal's definition.
func (r *reader) expansions(depth int, terminal bool) (int, bool) {
	if depth > maxDepth {
		return none, r.fail(tooDeep)
	}
	var kids []int
	for {
		kid, ok := r.expansion(depth, terminal)
		if !ok {
			return none, false
		}
		kids = append(kids, kid)
		if !r.or(depth) {
			return r.alternative(kids)
		}
	}
}

// or passes over the bar before another alternative, if there is one. Outside of groups it may stand on a line of its
// own, but nothing else may.
func (r *reader) or(depth int) bool {
	before := r.at
	if r.space(true); r.take("|") {
		return true
	}
	if depth == 0 {
		r.at = before
	}
	return false
}

// expansion reads expressions that follow each other, and their alias.
func (r *reader) expansion(depth int, terminal bool) (int, bool) {
	var kids []int
	for {
		r.space(depth > 0)
		if r.take("->") {
			r.space(false)
			if name, _ := r.name(); name == "" {
				return none, r.fail(notLark)
			}
			r.space(depth > 0)
			return r.sequence(kids)
		}
		if r.at == len(r.in) || strings.IndexByte("\r\n|)]", r.in[r.at]) >= 0 {
			return r.sequence(kids)
		}
		kid, ok := r.expression(depth, terminal)
		if !ok {
			return none, false
		}
		kids = append(kids, kid)
	}
}

// expression reads an atom, and how often it is repeated.
func (r *reader) expression(depth int, terminal bool) (int, bool) {
	kid, ok := r.atom(depth, terminal)
	if !ok {
		return none, false
	}
	r.space(false)
	switch {
	case r.take("*"):
		return r.repetition(kid, 0, unbounded)
	case r.take("+"):
		return r.repetition(kid, 1, unbounded)
	case r.take("?"):
		return r.repetition(kid, 0, 1)
	case r.take("~"):
		r.space(false)
		from, ok := r.digits()
		to := from
		if r.space(false); r.take("..") {
			r.space(false)
			to, ok = r.digits()
		}
		if !ok {
			return none, r.fail(notLark)
		}
		return r.repetition(kid, from, to)
	}
	return kid, true
}

func (r *reader) atom(depth int, terminal bool) (int, bool) {
	switch c := r.in[r.at]; c {
	case '(', '[':
		r.at++
		kid, ok := r.expansions(depth+1, terminal)
		if !ok {
			return none, false
		}
		if r.space(true); c == '(' {
			return kid, r.take(")") || r.fail(notLark)
		}
		if !r.take("]") {
			return none, r.fail(notLark)
		}
		return r.repetition(kid, 0, 1)
	case '"':
		return r.token(terminal, r.stringOrRange)
	case '/':
		return r.token(terminal, r.literalRegex)
	}
	name, isTerminal := r.name()
	switch {
	case name == "":
		return none, r.fail(notLark)
	case strings.HasPrefix(r.in[r.at:], "{"):
		return none, r.fail(badTemplate)
	}
	at, ok := r.find(name, isTerminal)
	if !ok {
		return none, false
	}
	return r.add(node{op: reference, symbol: at, token: isTerminal && !terminal})
}

// token reads a terminal without a name, which is a token of its own where it stands in a rule.
func (r *reader) token(terminal bool, read func() (int, bool)) (int, bool) {
	at, ok := read()
	if ok && !terminal {
		r.nodes[at].token = true
	}
	return at, ok
}

// quoted reads what stands between two marks on one line. The byte behind a backslash is no mark.
func (r *reader) quoted(mark byte) (string, bool) {
	from, escaped := r.at+1, false
	for at := from; at < len(r.in) && r.in[at] != '\n'; at++ {
		switch {
		case escaped:
			escaped = false
		case r.in[at] == '\\':
			escaped = true
		case r.in[at] == mark:
			r.at = at + 1
			return r.in[from:at], true
		}
	}
	return "", r.fail(notLark)
}

// literalRegex reads a regular expression between slashes.
func (r *reader) literalRegex() (int, bool) {
	pattern, ok := r.quoted('/')
	if !ok {
		return none, false
	}
	from := r.at
	for r.at < len(r.in) && strings.IndexByte("imslux", r.in[r.at]) >= 0 {
		r.at++
	}
	return r.regex(pattern, r.in[from:r.at])
}

// stringOrRange reads a string, or a range between two strings of one character.
func (r *reader) stringOrRange() (int, bool) {
	first, ok := r.string()
	if !ok {
		return none, false
	}
	if r.take("i") {
		return r.anyCase(first)
	}
	before := r.at
	if r.space(false); !r.take("..") {
		r.at = before
		return r.add(node{op: text, text: first})
	}
	if r.space(false); !strings.HasPrefix(r.in[r.at:], `"`) {
		return none, r.fail(notLark)
	}
	last, ok := r.string()
	from, single := onlyRune(first)
	to, alsoSingle := onlyRune(last)
	if !ok || !single || !alsoSingle || from > to {
		return none, r.fail(badString)
	}
	return r.class([]span{{from, to}}, false)
}

// string reads a string. Lark knows these escapes in it, and leaves every other backslash as it is.
func (r *reader) string() (string, bool) {
	inside, ok := r.quoted('"')
	if !ok {
		return "", false
	}
	var out []byte
	for at := 0; at < len(inside); at++ {
		if inside[at] != '\\' || at+1 == len(inside) {
			out = append(out, inside[at])
			continue
		}
		at++
		switch c := inside[at]; c {
		case 'x', 'u', 'U':
			value, size := hexadecimal(inside[at:])
			if size == 0 {
				return "", r.fail(badString)
			}
			out = append(out, string(value)...)
			at += size - 1
		case '"', '\\':
			out = append(out, c)
		case 'n', 'f', 't', 'r':
			out = append(out, control(c))
		default:
			out = append(out, '\\', c)
		}
	}
	return string(out), true
}

// control returns the control character that an escape names, or zero.
func control(c byte) byte {
	if i := strings.IndexByte("nftrv", c); i >= 0 {
		return "\n\f\t\r\v"[i]
	}
	return 0
}

// hexadecimal reads "x" with two digits, "u" with four or "U" with eight. size is its length, or zero.
func hexadecimal(s string) (value rune, size int) {
	size = 3
	switch s[0] {
	case 'u':
		size = 5
	case 'U':
		size = 9
	}
	if len(s) < size {
		return 0, 0
	}
	for i := 1; i < size; i++ {
		at := strings.IndexByte("0123456789abcdef", s[i]|0x20)
		if at < 0 || s[i] < '0' {
			return 0, 0
		}
		value = value<<4 | rune(at)
		if value > 0x10FFFF {
			return 0, 0
		}
	}
	if value >= 0xD800 && value < 0xE000 {
		return 0, 0
	}
	return value, size
}

// anyCase returns a text whose ASCII letters have any case.
func (r *reader) anyCase(value string) (int, bool) {
	var kids []int
	for _, c := range value {
		if c >= 0x80 {
			return none, r.fail(badString)
		}
		kid, ok := r.class(bothCases([]span{{c, c}}), false)
		if !ok {
			return none, false
		}
		kids = append(kids, kid)
	}
	return r.sequence(kids)
}
