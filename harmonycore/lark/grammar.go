package lark

// grammar is a grammar as a graph. Nodes and symbols are named by their index.
type grammar struct {
	nodes   []node
	symbols []symbol
	// index finds symbols by their name.
	index map[string]int
	// start is the symbol where texts begin. ignored are the expressions that may stand before each token, and at the end.
	start   int
	ignored []int
	// reason says why the grammar cannot be translated. work counts down the steps of the analyses.
	reason string
	work   int
}

// symbol is a rule or a terminal.
type symbol struct {
	name string
	// terminal reports whether this is a terminal. Nothing is ignored within a terminal.
	terminal bool
	// body is the node of the definition, or none.
	body int
	// reached reports whether texts can have the symbol, productive whether it has a text. number is its number in the EBNF.
	reached, productive bool
	number              int
	// empty reports whether the empty text is one of its texts, and led whether each rule that it can begin with is known
	// not to begin with itself.
	empty, led bool
}

// none is no node, and no symbol.
const none = -1

type op uint8

const (
	sequence    op = iota // kids, one after the other; without kids the empty text
	alternative           // one of kids
	repetition            // kids[0], min to max times
	text                  // the text
	class                 // one character of set
	reference             // the symbol
)

// node is a part of an expression.
type node struct {
	op op
	// token reports whether the node is a whole token of a rule, before which something may be ignored.
	token    bool
	min, max int
	kids     []int
	text     string
	set      []span
	symbol   int
}

// unbounded is the upper bound of a repetition that has none.
const unbounded = -1

// fail records the first reason why the grammar cannot be translated. It returns false.
func (g *grammar) fail(reason string) bool {
	if g.reason == "" {
		g.reason = reason
	}
	return false
}

// add adds a node.
func (g *grammar) add(n node) (int, bool) {
	if len(g.nodes) >= maxNodes {
		return none, g.fail(tooLarge)
	}
	g.nodes = append(g.nodes, n)
	return len(g.nodes) - 1, true
}

func (g *grammar) sequence(kids []int) (int, bool) {
	if len(kids) == 1 {
		return kids[0], true
	}
	return g.add(node{op: sequence, kids: kids})
}

// alternative returns one of kids. Characters that are alternatives become one class.
func (g *grammar) alternative(kids []int) (int, bool) {
	if len(kids) == 1 {
		return kids[0], true
	}
	set := []span(nil)
	for _, kid := range kids {
		one := g.characters(kid)
		if one == nil || g.nodes[kid].token {
			return g.add(node{op: alternative, kids: kids})
		}
		set = append(set, one...)
	}
	return g.class(set, false)
}

// characters returns the set of a node that is one character, or nil.
func (g *grammar) characters(at int) []span {
	switch n := &g.nodes[at]; n.op {
	case class:
		return n.set
	case text:
		if c, ok := onlyRune(n.text); ok {
			return []span{{c, c}}
		}
	}
	return nil
}

func (g *grammar) class(set []span, negated bool) (int, bool) {
	set = normalized(set)
	if negated {
		set = complement(set)
	}
	if len(set) == 0 || len(set) > maxSpans {
		return none, g.fail(badClass)
	}
	return g.add(node{op: class, set: set})
}

// repetition repeats a node. A star of a star is a star, since llama.cpp refuses to repeat what may be empty.
func (g *grammar) repetition(kid, from, to int) (int, bool) {
	if from > maxRepeat || to > maxRepeat || to != unbounded && to < from {
		return none, g.fail(tooMany)
	}
	if n := &g.nodes[kid]; to == unbounded && from <= 1 && n.op == repetition && n.min <= 1 && n.max != 0 && !n.token {
		n.min, n.max = min(from, n.min), unbounded
		return kid, true
	}
	return g.add(node{op: repetition, kids: []int{kid}, min: from, max: to})
}

// find returns the symbol with a name, and adds it if there is none.
func (g *grammar) find(name string, terminal bool) (int, bool) {
	if at, ok := g.index[name]; ok {
		return at, true
	}
	if len(g.symbols) >= maxSymbols {
		return none, g.fail(tooLarge)
	}
	at := len(g.symbols)
	g.symbols = append(g.symbols, symbol{name: name, terminal: terminal, body: none})
	g.index[name] = at
	return at, true
}

// define sets the definition of a symbol.
func (g *grammar) define(at, body int) bool {
	if g.symbols[at].body != none {
		return g.fail(redefined)
	}
	g.symbols[at].body = body
	return true
}
