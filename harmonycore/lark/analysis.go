package lark

// check reports whether every symbol that texts can have is defined and has a text, and whether the grammar is small
// enough to be enforced.
func (g *grammar) check() bool {
	g.work = maxWork
	if !g.ignore() {
		return false
	}
	order, ok := g.reach()
	return ok && g.produce(order)
}

// ignore makes one expression of all that is ignored, any number of times. An expression that itself repeats something
// is only that: llama.cpp would try all ways to cut a text of it into pieces.
func (g *grammar) ignore() bool {
	if len(g.ignored) == 0 {
		return true
	}
	for i, at := range g.ignored {
		for range maxDepth {
			n := &g.nodes[at]
			next := none
			if n.op == reference {
				next = g.symbols[n.symbol].body
			} else if n.op == repetition && n.min <= 1 && n.max == unbounded {
				next = n.kids[0]
			}
			if next == none {
				break
			}
			at = next
		}
		g.ignored[i] = at
	}
	all, ok := g.alternative(g.ignored)
	if ok {
		all, ok = g.repetition(all, 0, unbounded)
	}
	g.ignored = []int{all}
	return ok
}

// reach marks the symbols that texts can have, and returns them in the order in which they were found.
func (g *grammar) reach() ([]int, bool) {
	type visit struct{ node, weight int }
	order := []int{g.start}
	g.symbols[g.start].reached = true
	var pending []visit
	for _, at := range g.ignored {
		pending = append(pending, visit{at, 1})
	}
	weight := 0
	for next := 0; next < len(order) || len(pending) > 0; {
		if len(pending) == 0 {
			s := &g.symbols[order[next]]
			next++
			if s.body == none {
				return nil, g.fail(undefined)
			}
			pending = append(pending, visit{s.body, 1})
		}
		last := len(pending) - 1
		v := pending[last]
		pending = pending[:last]
		n := &g.nodes[v.node]
		switch n.op {
		case reference:
			if s := &g.symbols[n.symbol]; !s.reached {
				s.reached, s.number = true, len(order)
				order = append(order, n.symbol)
			}
		case repetition:
			v.weight *= max(n.max, n.min, 1)
		}
		if weight += v.weight * (1 + len(n.text)/4); v.weight > maxWeight || weight > maxWeight {
			return nil, g.fail(tooMany)
		}
		for i := len(n.kids) - 1; i >= 0; i-- {
			pending = append(pending, visit{n.kids[i], v.weight})
		}
	}
	return order, true
}

// produce finds which symbols have a text, and reports whether all that were reached have one.
func (g *grammar) produce(order []int) bool {
	for changed := true; changed; {
		changed = false
		for i := len(order) - 1; i >= 0; i-- {
			s := &g.symbols[order[i]]
			if !s.productive && g.hasText(s.body) {
				s.productive, changed = true, true
			}
		}
	}
	for _, at := range order {
		if !g.symbols[at].productive {
			return g.fail(noText)
		}
	}
	for _, at := range g.ignored {
		if !g.hasText(at) {
			return g.fail(noText)
		}
	}
	return true
}

// hasText reports whether an expression has a text, by what is known of the symbols.
func (g *grammar) hasText(at int) bool {
	if g.work--; g.work < 0 {
		return g.fail(tooLarge)
	}
	n := &g.nodes[at]
	switch n.op {
	case reference:
		return g.symbols[n.symbol].productive
	case alternative:
		for _, kid := range n.kids {
			if g.hasText(kid) {
				return true
			}
		}
		return false
	case repetition:
		return n.min == 0 || g.hasText(n.kids[0])
	}
	for _, kid := range n.kids {
		if !g.hasText(kid) {
			return false
		}
	}
	return true
}

// covers reports whether a symbol has every text but the empty one. It finds only the plain ways to say so. depth is how
// many symbols it may follow.
func (g *grammar) covers(symbol, depth int) bool {
	if depth == 0 || g.work < 0 {
		return false
	}
	return g.coveredBy(g.symbols[symbol].body, depth)
}

func (g *grammar) coveredBy(at, depth int) bool {
	g.work--
	n := &g.nodes[at]
	switch n.op {
	case reference:
		return g.covers(n.symbol, depth-1)
	case alternative:
		for _, kid := range n.kids {
			if g.coveredBy(kid, depth) {
				return true
			}
		}
		return false
	case repetition:
		return n.min <= 1 && n.max != 0 &&
			(n.max == unbounded && g.isAnyCharacter(n.kids[0], depth) || g.coveredBy(n.kids[0], depth))
	case sequence:
		covering := false
		for _, kid := range n.kids {
			switch {
			case !covering && g.coveredBy(kid, depth):
				covering = true
			case !g.mayBeEmpty(kid, depth):
				return false
			}
		}
		return covering
	}
	return false
}

// isAnyCharacter reports whether an expression has every text of one character.
func (g *grammar) isAnyCharacter(at, depth int) bool {
	g.work--
	switch n := &g.nodes[at]; {
	case n.op == class:
		return isEverything(n.set)
	case n.op == reference && depth > 0 && g.work > 0:
		return g.isAnyCharacter(g.symbols[n.symbol].body, depth-1)
	}
	return false
}

// mayBeEmpty reports whether an expression has the empty text.
func (g *grammar) mayBeEmpty(at, depth int) bool {
	if g.work--; g.work < 0 || depth == 0 {
		return false
	}
	n := &g.nodes[at]
	switch n.op {
	case reference:
		return g.mayBeEmpty(g.symbols[n.symbol].body, depth-1)
	case alternative:
		for _, kid := range n.kids {
			if g.mayBeEmpty(kid, depth) {
				return true
			}
		}
		return false
	case repetition:
		return n.min == 0 || g.mayBeEmpty(n.kids[0], depth)
	case sequence:
		for _, kid := range n.kids {
			if !g.mayBeEmpty(kid, depth) {
				return false
			}
		}
		return true
	}
	return n.op == text && n.text == ""
}

// unroll writes each rule that begins with itself as a repetition, because llama.cpp refuses such rules: of
// a: a "x" | "y" it makes a: "y" "x"*.
func (g *grammar) unroll() {
	for at := range g.symbols {
		if s := &g.symbols[at]; s.reached && !s.terminal {
			g.unrollSymbol(at)
		}
	}
}

func (g *grammar) unrollSymbol(at int) {
	body := g.symbols[at].body
	all := []int{body}
	if n := &g.nodes[body]; n.op == alternative {
		all = n.kids
	}
	var others, tails []int
	for _, one := range all {
		tail, leads := g.behind(one, at)
		if !leads {
			others = append(others, one)
		} else if tail != none {
			tails = append(tails, tail)
		}
	}
	if len(others) == len(all) || len(others) == 0 {
		return
	}
	first, ok := g.alternative(others)
	if ok && len(tails) > 0 {
		var rest int
		if rest, ok = g.alternative(tails); ok {
			if rest, ok = g.repetition(rest, 0, unbounded); ok {
				first, ok = g.sequence([]int{first, rest})
			}
		}
	}
	if ok {
		g.symbols[at].body = first
	}
}

// behind returns what follows in an expression that begins with a symbol, or none if nothing does.
func (g *grammar) behind(at, symbol int) (tail int, leads bool) {
	n := &g.nodes[at]
	if n.op == reference {
		return none, n.symbol == symbol
	}
	if n.op != sequence || len(n.kids) == 0 {
		return none, false
	}
	first := &g.nodes[n.kids[0]]
	if first.op != reference || first.symbol != symbol {
		return none, false
	}
	tail, leads = g.sequence(n.kids[1:])
	return tail, leads
}
