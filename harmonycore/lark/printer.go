package lark

import (
	"strconv"
	"unicode/utf8"
)

// printer writes a grammar in the EBNF that xgrammar and llama.cpp read alike. Names are letters and digits, and escapes
// have a fixed length.
type printer struct {
	*grammar
	out []byte
	// nested are repetitions that are repeated. Each is a rule of its own, because not every reader of EBNF reads the one
	// within the other.
	nested []int
}

// print returns the grammar in EBNF.
func (g *grammar) print() string {
	p := printer{grammar: g}
	if len(g.ignored) > 0 {
		p.put("root ::= ")
		p.name(g.start)
		p.put(" i\ni ::= ")
		p.node(g.ignored[0], outer)
		p.put("\n")
	}
	for _, at := range g.numbered() {
		p.name(at)
		p.put(" ::= ")
		p.node(g.symbols[at].body, outer)
		if p.put("\n"); len(p.out) > maxEBNF {
			break
		}
	}
	for i := 0; i < len(p.nested); i++ {
		p.number("n", i)
		p.put(" ::= ")
		p.plain(&g.nodes[p.nested[i]])
		p.put("\n")
	}
	if len(p.out) > maxEBNF {
		g.fail(tooLarge)
		return ""
	}
	return string(p.out)
}

// numbered returns the symbols that texts can have, by their number.
func (g *grammar) numbered() []int {
	all := make([]int, 0, len(g.symbols))
	for range g.symbols {
		all = append(all, none)
	}
	n := 0
	for at := range g.symbols {
		if s := &g.symbols[at]; s.reached && s.number < len(all) {
			all[s.number] = at
			n++
		}
	}
	return all[:n]
}

// place is where an expression stands, which decides whether it needs brackets.
type place uint8

const (
	outer    place = iota // a whole definition
	within                // beside others
	repeated              // before the sign of a repetition
)

func (p *printer) put(s string) { p.out = append(p.out, s...) }

func (p *printer) name(symbol int) {
	if symbol == p.start && len(p.ignored) == 0 {
		p.put("root")
		return
	}
	p.number("r", p.symbols[symbol].number)
}

func (p *printer) number(letter string, n int) {
	p.out = strconv.AppendInt(append(p.out, letter...), int64(n), 10)
}

func (p *printer) node(at int, where place) {
	n := &p.nodes[at]
	ignores := n.token && len(p.ignored) > 0
	if where == repeated && !ignores && n.op == repetition {
		p.number("n", len(p.nested))
		p.nested = append(p.nested, at)
		return
	}
	around := where == repeated && (ignores || n.op == sequence || n.op == text)
	inside := n.op == alternative && (where != outer || ignores)
	if around {
		p.put("(")
	}
	if ignores {
		p.put("i ")
	}
	if inside {
		p.put("(")
	}
	p.plain(n)
	if inside {
		p.put(")")
	}
	if around {
		p.put(")")
	}
}

// plain writes a node without brackets around it.
func (p *printer) plain(n *node) {
	switch n.op {
	case sequence:
		p.list(n.kids, " ")
	case alternative:
		p.list(n.kids, " | ")
	case repetition:
		p.node(n.kids[0], repeated)
		p.times(n.min, n.max)
	case text:
		p.text(n.text)
	case class:
		p.class(n.set)
	case reference:
		p.name(n.symbol)
	}
}

func (p *printer) list(kids []int, between string) {
	if len(kids) == 0 {
		p.text("")
	}
	for i, kid := range kids {
		if i > 0 {
			p.put(between)
		}
		p.node(kid, within)
	}
}

// times writes how often something is repeated.
func (p *printer) times(from, to int) {
	switch {
	case from == 0 && to == unbounded:
		p.put("*")
	case from == 1 && to == unbounded:
		p.put("+")
	case from == 0 && to == 1:
		p.put("?")
	default:
		p.put("{")
		p.out = strconv.AppendInt(p.out, int64(from), 10)
		if to != from {
			p.put(",")
		}
		if to != from && to != unbounded {
			p.out = strconv.AppendInt(p.out, int64(to), 10)
		}
		p.put("}")
	}
}

// text writes a string. It ends a string behind an escape of two digits if another digit follows, because xgrammar would
// read on.
func (p *printer) text(s string) {
	p.put(`"`)
	digits := false
	for _, c := range s {
		if digits && isHexadecimal(c) {
			p.put(`" "`)
		}
		digits = p.character(c)
	}
	p.put(`"`)
}

func isHexadecimal(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'F' || c >= 'a' && c <= 'f'
}

// character writes a character of a string or of a class. It reports whether the last bytes are hexadecimal digits of an
// escape.
func (p *printer) character(c rune) (digits bool) {
	switch {
	case c == '\n':
		p.put(`\n`)
	case c == '\r':
		p.put(`\r`)
	case c == '\t':
		p.put(`\t`)
	case c == '"' || c == '\\':
		p.out = append(p.out, '\\', byte(c))
	case isEscaped(c):
		return p.twoDigits(c)
	default:
		p.out = utf8.AppendRune(p.out, c)
	}
	return false
}

func (p *printer) twoDigits(c rune) bool {
	const all = "0123456789abcdef"
	p.out = append(p.out, '\\', 'x', all[c>>4&15], all[c&15])
	return true
}

// class writes a set, by the characters that it does not have if it has the last one of all. What engines read in
// different ways comes last in it: a caret, escapes of two digits, and a dash.
func (p *printer) class(set []span) {
	if len(set) == 1 && set[0].from == set[0].to {
		p.text(string(set[0].from))
		return
	}
	p.put("[")
	if !isEverything(set) && set[len(set)-1].to == utf8.MaxRune {
		p.put("^")
		set = complement(set)
	}
	begin := len(p.out)
	set, caret := without(bounded(set), '^')
	set, dash := without(set, '-')
	p.spans(set, false)
	if caret && len(p.out) == begin {
		p.put(`\x5e`)
	} else if caret {
		p.put("^")
	}
	p.spans(set, true)
	if dash {
		p.put("-")
	}
	p.put("]")
}

// spans writes those spans that have escapes of two digits, or those that have none.
func (p *printer) spans(set []span, escapes bool) {
	digits := false
	for _, s := range set {
		if (isEscaped(s.from) || isEscaped(s.to)) != escapes {
			continue
		}
		digits = p.member(s.from, digits)
		if s.to > s.from+1 {
			p.put("-")
		}
		if s.to > s.from {
			digits = p.member(s.to, digits && s.to == s.from+1)
		}
	}
}

// member writes a character of a class. digits reports whether digits of an escape stand before it.
func (p *printer) member(c rune, digits bool) bool {
	switch {
	case c == ']':
		p.put(`\]`)
		return false
	case digits && isHexadecimal(c):
		return p.twoDigits(c)
	}
	return p.character(c)
}

// isEscaped reports whether a character is written by two digits.
func isEscaped(c rune) bool { return c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7F }
