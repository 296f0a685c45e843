package prefixmemory

import "slices"

// Match is a way from a root to a node. It is valid until the next [Memory.Find], [Memory.Clear] or [Memory.SetLimit].
type Match struct {
	m *Memory
	// n is how many nodes of the memory's path it has, and end where the last of them ends in the body.
	n, end int
}

// None returns a match of nothing.
func (m *Memory) None() Match { return Match{m: m} }

// Found reports whether there is a node.
func (t *Match) Found() bool { return t.n > 0 }

// End returns where the last node ends in the body.
func (t *Match) End() int { return t.end }

// Rest returns how long what comes after the body's middle is.
func (t *Match) Rest() int { return t.m.nodes[t.m.path[0]].rest.size }

// State returns the state of the last node.
func (t *Match) State() State { return t.m.nodes[t.m.path[t.n-1]].state }

// Keep keeps a value for the last node, in place of the one that was not used for the longest time. It is kept on the
// heap, as long as the node is remembered.
func (t *Match) Keep(value any) {
	m, node := t.m, t.m.path[t.n-1]
	last := maxKept - 1
	for i := range m.kept {
		if m.kept[i].node == node {
			last = i
		}
	}
	copy(m.kept[1:last+1], m.kept[:last])
	m.kept[0] = kept{node, value}
}

// Kept returns the value that is kept for the last node that has one, or nil.
func (t *Match) Kept() any {
	m := t.m
	best, depth := 0, -1
	for i, k := range m.kept {
		if k.node == 0 || m.nodes[k.node].round != m.round { // it is not on the way
			continue
		}
		if at := slices.Index(m.path[:t.n], k.node); at > depth {
			best, depth = i, at
		}
	}
	if depth < 0 {
		return nil
	}
	k := m.kept[best]
	copy(m.kept[1:best+1], m.kept[:best])
	m.kept[0] = k
	return k.value
}

// AppendSpans appends the spans of all nodes, as places in the body.
func (t *Match) AppendSpans(dst []Span) []Span {
	from := 0
	for _, at := range t.m.path[:t.n] {
		n := &t.m.nodes[at]
		if n.spans > 0 {
			c := cursor{&t.m.blocks, n.first, 0}
			c.skip(int(n.parts) * partSize)
			for range n.spans {
				a, b := c.pair()
				dst = append(dst, Span{from + int(a), from + int(b)})
			}
		}
		from += n.own.size
	}
	return dst
}

// Back leaves out the last node, and reports whether there is one left.
func (t *Match) Back() bool {
	t.end -= t.m.nodes[t.m.path[t.n-1]].own.size
	t.n--
	return t.n > 0
}

// Digest returns the digest of a part of the body that [Memory.Find] has searched, which begins where the match ends. It
// does not make it again if a node that was found there has it.
func (t *Match) Digest(part []byte) Digest {
	if m := t.m; t.n > 0 && t.n < len(m.path) {
		if own := &m.nodes[m.path[t.n]].own; own.size == len(part) {
			return *own
		}
	}
	return t.m.Digest(part)
}

// Known is a text that is remembered.
type Known struct {
	Match
	// Size is its size in bytes, Tokens how many tokens it stands for, and Foreign how many of them are of foreign parts.
	Size, Tokens, Foreign int
	// from is the node, and skip the part of it, up to which Passing parts are left out.
	from, skip int
}

// Text returns the text for all nodes of a match. lasting reports whether a Lasting part comes after it. ok is false
// if parts of the text are not remembered.
func (t *Match) Text(lasting bool) (k Known, ok bool) {
	k = Known{Match: *t, from: -1}
	if lasting {
		k.from = t.n
	}
	var sum total
	for i := t.n - 1; i >= 0; i-- {
		n := &t.m.nodes[t.m.path[i]]
		sum.plus(n.all, 1)
		switch {
		case i < k.from:
			sum.plus(n.passing, -1)
		case n.final:
			var left total
			if left, k.skip, ok = t.m.before(n); !ok {
				return k, false
			}
			k.from = i
			sum.plus(left, -1)
		case n.missing:
			return k, false
		}
	}
	k.Size, k.Tokens, k.Foreign = sum.size, sum.tokens, sum.foreign
	return k, true
}

// before counts the Passing parts before the last Lasting one of a node, whose index is last. ok is false if one is
// missing after it.
func (m *Memory) before(n *node) (left total, last int, ok bool) {
	c := cursor{&m.blocks, n.first, 0}
	var passing total
	ok = true
	for i := range int(n.parts) {
		p := c.part()
		switch {
		case p.Kind&Lasting != 0:
			left, last, ok = passing, i, true
		case p.Kind&Passing != 0:
			passing.add(&p)
			ok = ok && p.Kind&Missing == 0
		}
	}
	return left, last, ok
}

// AppendTo appends the text to dst. It may stop after so many bytes.
func (k *Known) AppendTo(dst []byte, enough int) []byte {
	from := len(dst)
	for i := range k.n {
		n := &k.m.nodes[k.m.path[i]]
		switch {
		case i > k.from, n.passing.size == 0:
			c := cursor{&k.m.blocks, n.first, 0}
			c.skip(n.before())
			dst = c.read(dst, n.all.size)
		case i == k.from:
			dst = k.m.appendWithout(dst, n, k.skip)
		default:
			dst = k.m.appendWithout(dst, n, int(n.parts))
		}
		if len(dst)-from >= enough {
			break
		}
	}
	return dst
}

// before is how many bytes there are before a node's text.
func (n *node) before() int { return int(n.parts)*partSize + int(n.spans)*spanSize }

// appendWithout appends a node's text without the Passing ones of its first parts.
func (m *Memory) appendWithout(dst []byte, n *node, first int) []byte {
	parts := cursor{&m.blocks, n.first, 0}
	text := parts
	text.skip(n.before())
	kept := 0
	for i := range int(n.parts) {
		p := parts.part()
		if i >= first || p.Kind&Passing == 0 {
			kept += p.Size
			continue
		}
		dst = text.read(dst, kept)
		text.skip(p.Size)
		kept = 0
	}
	return text.read(dst, kept)
}

// AddRoot remembers a body's first part, with what comes after its middle. The match becomes the way to that root. It
// reports whether there was room.
func (t *Match) AddRoot(owner Tag, own, rest Digest, e *Entry) bool {
	m := t.m
	m.path = m.path[:0]
	t.n, t.end = 1, own.size
	for at := m.roots; at != 0; at = m.nodes[at].next {
		if n := &m.nodes[at]; n.owner == owner && n.own == own && n.rest == rest {
			if m.renew(at, e) {
				return true
			}
			break
		}
	}
	return m.add(&node{owner: owner, own: own, rest: rest}, 0, 0, e)
}

// Add remembers the part of a body that follows the match, which becomes the way to it. It reports whether there was
// room.
func (t *Match) Add(own Digest, e *Entry) bool {
	m := t.m
	parent, from := m.path[t.n-1], t.end
	m.path = m.path[:t.n]
	t.n++
	t.end += own.size
	for at := m.nodes[parent].child; at != 0; at = m.nodes[at].next {
		if m.nodes[at].own == own {
			if m.renew(at, e) {
				return true
			}
			break
		}
	}
	return m.add(&node{own: own}, parent, from, e)
}
