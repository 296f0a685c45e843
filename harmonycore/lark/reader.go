package lark

import (
	"strings"
	"unicode/utf8"
)

// reader reads a grammar's text.
type reader struct {
	*grammar
	in string
	at int
}

// read reads all statements. It reports whether it understood them.
func (r *reader) read() bool {
	if len(r.in) > maxDefinition {
		return r.fail(tooLarge)
	}
	if !utf8.ValidString(r.in) {
		return r.fail(notLark)
	}
	for r.space(true); r.at < len(r.in); r.space(true) {
		if !r.statement() {
			return false
		}
	}
	start, ok := r.index["start"]
	if !ok || r.symbols[start].body == none {
		return r.fail(noStart)
	}
	r.start = start
	return true
}

// space passes over blanks and comments, and over line ends if lines is set.
func (r *reader) space(lines bool) {
	for r.at < len(r.in) {
		rest := r.in[r.at:]
		switch c := rest[0]; {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			r.at++
		case c == '#' || strings.HasPrefix(rest, "//"):
			r.at += lineLength(rest)
		case c == '\\' && strings.HasPrefix(strings.TrimLeft(rest[1:], " \r"), "\n"):
			r.at += lineLength(rest) + 1
		default:
			return
		}
	}
}

// lineLength returns the length of the line with which s begins, without its end.
func lineLength(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}

// take passes over word, if the text goes on with it.
func (r *reader) take(word string) bool {
	if !strings.HasPrefix(r.in[r.at:], word) {
		return false
	}
	r.at += len(word)
	return true
}

// endOfLine reports whether a statement ends here.
func (r *reader) endOfLine() bool {
	r.space(false)
	return r.at == len(r.in) || r.in[r.at] == '\n' || r.in[r.at] == '\r' || r.fail(notLark)
}

// statement reads a definition or a directive.
func (r *reader) statement() bool {
	if r.in[r.at] == '%' {
		return r.directive()
	}
	for r.take("?") || r.take("!") {
	}
	name, terminal := r.name()
	if name == "" {
		return r.fail(notLark)
	}
	r.space(false)
	if r.take(".") && !r.priority() {
		return r.fail(notLark)
	}
	r.space(false)
	if r.at < len(r.in) && (r.in[r.at] == '{' || r.in[r.at] == '[') {
		return r.fail(badTemplate)
	}
	if !r.take(":") {
		return r.fail(notLark)
	}
	at, ok := r.find(name, terminal)
	if !ok {
		return false
	}
	body, ok := r.expansions(0, terminal)
	return ok && r.endOfLine() && r.define(at, body)
}

func (r *reader) priority() bool {
	if !r.take("-") {
		r.take("+")
	}
	_, ok := r.digits()
	return ok
}

// digits reads a number. A long one is the greatest that is told apart.
func (r *reader) digits() (n int, ok bool) {
	for ; r.at < len(r.in) && r.in[r.at] >= '0' && r.in[r.at] <= '9'; r.at++ {
		n, ok = min(n*10+int(r.in[r.at]-'0'), maxRepeat+1), true
	}
	return n, ok
}

// name reads the name of a rule or of a terminal, or nothing. A terminal has capital letters.
func (r *reader) name() (name string, terminal bool) {
	from, to := r.at, r.at
	for to < len(r.in) && r.in[to] == '_' {
		to++
	}
	if to == len(r.in) || !isLetter(r.in[to]) {
		return "", false
	}
	for terminal = r.in[to] < 'a'; to < len(r.in); to++ {
		c := r.in[to]
		if c != '_' && (c < '0' || c > '9') && !(isLetter(c) && c < 'a' == terminal) {
			break
		}
	}
	r.at = to
	return r.in[from:to], terminal
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func (r *reader) directive() bool {
	switch {
	case r.take("%ignore"):
		body, ok := r.expansions(0, true)
		r.ignored = append(r.ignored, body)
		return ok && r.endOfLine()
	case r.take("%import"):
		return r.imports()
	}
	return r.fail(badDirective)
}

// imports reads "common.NAME", "common.NAME -> OTHER" or "common (NAME, NAME)".
func (r *reader) imports() bool {
	r.space(false)
	if !r.take("common") {
		return r.fail(badImport)
	}
	if r.take(".") {
		name, _ := r.name()
		as := name
		if r.space(false); r.take("->") {
			r.space(false)
			as, _ = r.name()
		}
		return r.imported(name, as) && r.endOfLine()
	}
	r.space(false)
	if !r.take("(") {
		return r.fail(badImport)
	}
	for {
		r.space(true)
		name, _ := r.name()
		if !r.imported(name, name) {
			return false
		}
		r.space(true)
		if r.take(")") {
			return r.endOfLine()
		}
		if !r.take(",") {
			return r.fail(notLark)
		}
	}
}

// imported defines a terminal by one of Lark's module common.
func (r *reader) imported(name, as string) bool {
	pattern, ok := common(name)
	if !ok || as == "" {
		return r.fail(badImport)
	}
	at, ok := r.find(as, true)
	if !ok {
		return false
	}
	body, ok := r.regex(pattern, "")
	return ok && r.define(at, body)
}
