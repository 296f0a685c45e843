package lark

// leftRecursive reports whether a symbol begins with itself, at once or by others.
func (g *grammar) leftRecursive() bool {
	g.work = maxWork
	for changed := true; changed; {
		changed = false
		for i := range g.symbols {
			s := &g.symbols[i]
			if empty, _ := g.leads(s.body); empty && !s.empty {
				s.empty, changed = true, true
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range g.symbols {
			s := &g.symbols[i]
			if _, led := g.leads(s.body); led && !s.led {
				s.led, changed = true, true
			}
		}
	}
	for i := range g.symbols {
		if s := &g.symbols[i]; s.reached && !s.led {
			return true
		}
	}
	return false
}

// leads reports whether an expression has the empty text, and whether it is known of each symbol with which its texts
// can begin that it does not begin with itself.
func (g *grammar) leads(at int) (empty, led bool) {
	if g.work--; g.work < 0 || at == none {
		return false, false
	}
	n := &g.nodes[at]
	switch n.op {
	case text:
		return n.text == "", true
	case class:
		return false, true
	case reference:
		return g.symbols[n.symbol].empty, g.symbols[n.symbol].led
	case alternative:
		led = true
		for _, kid := range n.kids {
			kidEmpty, kidLed := g.leads(kid)
			empty, led = empty || kidEmpty, led && kidLed
		}
		return empty, led
	case repetition:
		empty, led = g.leads(n.kids[0])
		return empty || n.min == 0, led
	}
	for _, kid := range n.kids {
		if empty, led = g.leads(kid); !empty || !led {
			return false, led
		}
	}
	return true, true
}
