package ebnf

// Matcher follows a text through a grammar. Its states are those of Earley's parser.
type Matcher struct {
	grammar *Grammar
	// sets are the items at each place of the text so far.
	sets []itemSet
}

type itemSet struct {
	items []item
	known map[item]bool
}

// item is a production that has been followed up to dot, since the place from.
type item struct{ rule, production, dot, from int }

func (s *itemSet) add(i item) {
	if !s.known[i] {
		s.known[i] = true
		s.items = append(s.items, i)
	}
}

// Begin returns a Matcher at the beginning of a text.
func (g *Grammar) Begin() *Matcher {
	m := &Matcher{grammar: g}
	first := itemSet{known: map[item]bool{}}
	for p := range g.rules[g.root] {
		first.add(item{g.root, p, 0, 0})
	}
	m.close(&first, 0)
	m.sets = append(m.sets, first)
	return m
}

// close adds what follows from the items of a set without a character.
func (m *Matcher) close(s *itemSet, at int) {
	for n := 0; n < len(s.items); n++ {
		i := s.items[n]
		p := m.grammar.rules[i.rule][i.production]
		if i.dot == len(p) {
			from := s
			if i.from < at {
				from = &m.sets[i.from]
			}
			for k := 0; k < len(from.items); k++ {
				w := from.items[k]
				waiting := m.grammar.rules[w.rule][w.production]
				if w.dot < len(waiting) && waiting[w.dot].set == nil && waiting[w.dot].rule == i.rule {
					s.add(item{w.rule, w.production, w.dot + 1, w.from})
				}
			}
			continue
		}
		if next := p[i.dot]; next.set == nil {
			for p := range m.grammar.rules[next.rule] {
				s.add(item{next.rule, p, 0, at})
			}
			if m.grammar.nullable[next.rule] {
				s.add(item{i.rule, i.production, i.dot + 1, i.from})
			}
		}
	}
}

// Next follows one more character. It reports whether some text begins with all characters so far. If none does, the
// Matcher is of no more use.
func (m *Matcher) Next(c rune) bool {
	next := itemSet{known: map[item]bool{}}
	for _, i := range m.sets[len(m.sets)-1].items {
		p := m.grammar.rules[i.rule][i.production]
		if i.dot < len(p) && p[i.dot].set != nil && p[i.dot].set.has(c) {
			next.add(item{i.rule, i.production, i.dot + 1, i.from})
		}
	}
	m.close(&next, len(m.sets))
	m.sets = append(m.sets, next)
	return len(next.items) > 0
}

// NextToken follows one token that the grammar names by its id, as llama.cpp's do: <[ID]>. No class of characters has it.
func (m *Matcher) NextToken(id uint32) bool { return m.Next(-rune(id)) }

// Complete reports whether the characters so far are a text of the grammar.
func (m *Matcher) Complete() bool {
	for i := range m.sets[len(m.sets)-1].known {
		if i.rule == m.grammar.root && i.from == 0 && i.dot == len(m.grammar.rules[i.rule][i.production]) {
			return true
		}
	}
	return false
}

// Allows reports whether the grammar has a text.
func (g *Grammar) Allows(text string) bool {
	m := g.Begin()
	for _, c := range text {
		if !m.Next(c) {
			return false
		}
	}
	return m.Complete()
}
