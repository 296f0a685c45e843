package ebnf

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Grammar is a grammar that was read.
type Grammar struct {
	// rules are the productions of each nonterminal. The first nonterminals have names; others stand for groups and
	// repetitions.
	rules [][]production
	root  int
	// nullable reports for each nonterminal whether it has the empty text, and shortest is its shortest text.
	nullable []bool
	shortest []string
	short    []bool
}

// production is one way to write a nonterminal.
type production []symbol

// symbol is a nonterminal, or a character of a set if set is not nil.
type symbol struct {
	rule int
	set  *set
}

// set is a set of characters, or one token: its id below 0.
type set struct {
	spans   [][2]rune
	negated bool
}

func (s *set) has(c rune) bool {
	listed := slices.ContainsFunc(s.spans, func(r [2]rune) bool { return c >= r[0] && c <= r[1] })
	return listed != s.negated && (c >= 0 || !s.negated)
}

// Read reads a grammar that begins at the rule root.
func Read(text string) (*Grammar, error) {
	r := reader{in: text, grammar: &Grammar{}, names: map[string]int{}, defined: map[int]bool{}}
	if err := r.all(); err != nil {
		return nil, fmt.Errorf("at %d, %.20q: %w", r.at, r.in[r.at:], err)
	}
	g := r.grammar
	root, ok := r.names["root"]
	if !ok {
		return nil, errors.New("no rule root")
	}
	g.root = root
	for name, at := range r.names {
		if !r.defined[at] {
			return nil, fmt.Errorf("the rule %s has no definition", name)
		}
	}
	g.settle()
	return g, nil
}

// settle finds which nonterminals have the empty text, and their shortest texts.
func (g *Grammar) settle() {
	g.nullable = make([]bool, len(g.rules))
	g.shortest, g.short = make([]string, len(g.rules)), make([]bool, len(g.rules))
	for changed := true; changed; {
		changed = false
		for at, all := range g.rules {
			for _, p := range all {
				text, ok := g.shortestOf(p)
				if ok && (!g.short[at] || len(text) < len(g.shortest[at])) {
					g.shortest[at], g.short[at], changed = text, true, true
				}
			}
			g.nullable[at] = g.short[at] && g.shortest[at] == ""
		}
	}
}

func (g *Grammar) shortestOf(p production) (text string, ok bool) {
	for _, s := range p {
		switch {
		case s.set != nil:
			text += string(s.set.plainest())
		case !g.short[s.rule]:
			return "", false
		default:
			text += g.shortest[s.rule]
		}
	}
	return text, true
}

// plainest returns a character of the set, a letter if it has one.
func (s *set) plainest() rune {
	for _, c := range "xabcdefghijklmnopqrstuvwyzXABCDEFGHIJKLMNOPQRSTUVWYZ0123456789_ \n" {
		if s.has(c) {
			return c
		}
	}
	if s.negated {
		for c := rune(' '); ; c++ {
			if s.has(c) {
				return c
			}
		}
	}
	return s.spans[0][0]
}

// Shortest returns a shortest text of the grammar, if it has any text.
func (g *Grammar) Shortest() (string, bool) { return g.shortest[g.root], g.short[g.root] }

type reader struct {
	in      string
	at      int
	grammar *Grammar
	names   map[string]int
	defined map[int]bool
}

func (r *reader) add(ps ...production) int {
	r.grammar.rules = append(r.grammar.rules, ps)
	return len(r.grammar.rules) - 1
}

func (r *reader) named(name string) int {
	at, ok := r.names[name]
	if !ok {
		at = r.add()
		r.names[name] = at
	}
	return at
}

// space passes over blanks, over line ends if lines is set, and comments.
func (r *reader) space(lines bool) {
	for r.at < len(r.in) {
		switch c := r.in[r.at]; {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			r.at++
		case c == '#':
			for r.at < len(r.in) && r.in[r.at] != '\n' {
				r.at++
			}
		default:
			return
		}
	}
}

func (r *reader) take(word string) bool {
	if strings.HasPrefix(r.in[r.at:], word) {
		r.at += len(word)
		return true
	}
	return false
}

func (r *reader) name() string {
	from := r.at
	for r.at < len(r.in) {
		c := r.in[r.at]
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
		r.at++
	}
	return r.in[from:r.at]
}

func (r *reader) all() error {
	for r.space(true); r.at < len(r.in); r.space(true) {
		name := r.name()
		if r.space(false); name == "" || !r.take("::=") {
			return errors.New("want a rule")
		}
		at := r.named(name)
		if r.defined[at] {
			return fmt.Errorf("the rule %s is there twice", name)
		}
		r.defined[at] = true
		all, err := r.alternatives(false)
		if err != nil {
			return err
		}
		r.grammar.rules[at] = all
		if r.at < len(r.in) && !r.take("\n") {
			return errors.New("want the end of the rule")
		}
	}
	return nil
}

func (r *reader) alternatives(grouped bool) (all []production, err error) {
	for {
		p := production{}
		for {
			r.space(grouped)
			if r.at == len(r.in) || strings.IndexByte("\n|)", r.in[r.at]) >= 0 {
				break
			}
			part, err := r.part()
			if err != nil {
				return nil, err
			}
			p = append(p, part...)
		}
		if all = append(all, p); !r.take("|") {
			return all, nil
		}
	}
}

// part reads one operand and its repetition.
func (r *reader) part() (production, error) {
	var p production
	switch c := r.in[r.at]; c {
	case '(':
		r.at++
		all, err := r.alternatives(true)
		if err != nil {
			return nil, err
		}
		if !r.take(")") {
			return nil, errors.New("want )")
		}
		p = production{{rule: r.add(all...)}}
	case '"':
		r.at++
		for !r.take(`"`) {
			c, err := r.character()
			if err != nil {
				return nil, err
			}
			p = append(p, symbol{set: &set{spans: [][2]rune{{c, c}}}})
		}
	case '[':
		s, err := r.class()
		if err != nil {
			return nil, err
		}
		p = production{{set: s}}
	case '<':
		digits, rest, ok := strings.Cut(r.in[r.at:], "]>")
		id, err := strconv.ParseUint(strings.TrimPrefix(digits, "<["), 10, 31)
		if err != nil || !ok {
			return nil, errors.New("want the id of a token")
		}
		r.at = len(r.in) - len(rest)
		p = production{{set: &set{spans: [][2]rune{{-rune(id), -rune(id)}}}}}
	default:
		name := r.name()
		if name == "" {
			return nil, errors.New("want an operand")
		}
		p = production{{rule: r.named(name)}}
	}
	return r.times(p)
}

func (r *reader) times(p production) (production, error) {
	from, to := 1, 1
	switch {
	case r.take("*"):
		from, to = 0, -1
	case r.take("+"):
		to = -1
	case r.take("?"):
		from = 0
	case r.take("{"):
		inside, rest, ok := strings.Cut(r.in[r.at:], "}")
		first, last, ranged := strings.Cut(inside, ",")
		var err error
		if from, err = strconv.Atoi(first); err != nil || !ok {
			return nil, errors.New("want a count")
		}
		to = from
		if ranged && last == "" {
			to = -1
		} else if ranged {
			if to, err = strconv.Atoi(last); err != nil {
				return nil, err
			}
		}
		r.at = len(r.in) - len(rest)
	default:
		return p, nil
	}
	var out production
	for range from {
		out = append(out, p...)
	}
	if to < 0 {
		at := r.add()
		r.grammar.rules[at] = []production{{}, append(production{{rule: at}}, p...)}
		return append(out, symbol{rule: at}), nil
	}
	next := -1
	for range to - from {
		more := slices.Clone(p)
		if next >= 0 {
			more = append(more, symbol{rule: next})
		}
		next = r.add(production{}, more)
	}
	if next >= 0 {
		out = append(out, symbol{rule: next})
	}
	return out, nil
}

func (r *reader) class() (*set, error) {
	r.at++
	s := &set{negated: r.take("^")}
	for !r.take("]") {
		from, err := r.character()
		if err != nil {
			return nil, err
		}
		to := from
		if strings.HasPrefix(r.in[r.at:], "-") && !strings.HasPrefix(r.in[r.at:], "-]") {
			r.at++
			if to, err = r.character(); err != nil {
				return nil, err
			}
		}
		if to < from {
			return nil, errors.New("a range from a later character to an earlier one")
		}
		s.spans = append(s.spans, [2]rune{from, to})
	}
	return s, nil
}

// character reads a character, escaped or not. It knows only the escapes that every engine reads alike.
func (r *reader) character() (rune, error) {
	c, size := utf8.DecodeRuneInString(r.in[r.at:])
	if size == 0 || c == '\n' || c == utf8.RuneError && size == 1 {
		return 0, errors.New("want a character")
	}
	r.at += size
	if c != '\\' {
		return c, nil
	}
	if r.at == len(r.in) {
		return 0, errors.New("want an escape")
	}
	c = rune(r.in[r.at])
	r.at++
	switch c {
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case '\\', '"', ']', '[':
		return c, nil
	case 'x', 'u', 'U':
		digits := map[rune]int{'x': 2, 'u': 4, 'U': 8}[c]
		if len(r.in)-r.at < digits {
			return 0, errors.New("want digits")
		}
		value, err := strconv.ParseInt(r.in[r.at:r.at+digits], 16, 32)
		if r.at += digits; c == 'x' && r.at < len(r.in) && strings.IndexByte("0123456789ABCDEFabcdef", r.in[r.at]) >= 0 {
			return 0, errors.New("xgrammar reads more digits here than llama.cpp")
		}
		return rune(value), err
	}
	return 0, errors.New("want another escape")
}
