package bpe

import "encoding/binary"

// node is one of the trie's while it is built: sorted[from:to], alike in the
// first depth bytes, go on from it.
type node struct {
	from, to uint32
	depth    uint32
	least    uint32 // lowest id below it
	first    uint32 // the first of its children that are nodes; they are in a row
	cell     uint32 // that leads to it
}

// child is what hangs below a node under one byte: sorted[from:to].
type child struct {
	from, to uint32
	least    uint32
	label    byte
	own      bool // the first of them ends there
}

// plant lays the trie out in cells and notes each token's node.
func (b *builder) plant() bool {
	nodes := []node{{to: uint32(len(b.ends))}}
	var children []child
	for i := 0; i < len(nodes); i++ {
		nodes[i].first = uint32(len(nodes))
		children = b.children(children[:0], nodes[i])
		for _, c := range children {
			if c.to-c.from > 1 {
				nodes = append(nodes, c.node(nodes[i].depth))
			}
		}
	}
	for _, i := range byLeast(nodes, len(b.ends)) {
		n := nodes[i]
		children = b.children(children[:0], n)
		base, ok := b.array.place(children)
		if !ok {
			return false
		}
		if i == 0 {
			b.root = base
		} else {
			b.array.cells[n.cell] |= uint64(base) << baseShift
		}
		next := n.first
		for _, c := range children {
			at := base + uint32(c.label)
			if c.to-c.from > 1 {
				nodes[next].cell = at
				next++
			}
			b.array.cells[at] = b.cell(c, n.depth+1)
		}
	}
	return true
}

// cell is the cell of a child that is depth bytes deep, still without a base.
func (b *builder) cell(c child, depth uint32) uint64 {
	cell := usedFlag | uint64(c.label)
	id := b.sorted[c.from]
	switch {
	case c.own:
		cell |= wholeFlag | uint64(id)<<idShift
	case c.to-c.from == 1:
		cell |= tailFlag | uint64(len(b.tails))<<idShift
		tail := b.token(id)[depth:]
		b.tails = binary.NativeEndian.AppendUint32(b.tails, id|uint32(len(tail))<<idBits)
		b.tails = append(b.tails, tail...)
	}
	return cell
}

// children appends what hangs below n, in the order of their labels.
func (b *builder) children(dst []child, n node) []child {
	for from := n.from; from < n.to; {
		c := child{from: from, to: from + 1, least: b.sorted[from]}
		for c.to < n.to && uint32(b.shared[c.to]) > n.depth {
			c.least = min(c.least, b.sorted[c.to])
			c.to++
		}
		token := b.token(b.sorted[from])
		c.label = token[n.depth]
		c.own = uint32(len(token)) == n.depth+1
		dst = append(dst, c)
		from = c.to
	}
	return dst
}

// node is the child as a node; its own token is none of those that go on.
func (c child) node(depth uint32) node {
	n := node{from: c.from, to: c.to, depth: depth + 1, least: c.least}
	if c.own {
		n.from++
	}
	return n
}

// byLeast is the order in which nodes are laid out: the lower its least id,
// the nearer to the beginning. A node is later in nodes than its parent, and
// its least id is not lower: so it also comes later here.
func byLeast(nodes []node, ids int) []uint32 {
	heads := make([]uint32, ids+1)
	for _, n := range nodes {
		heads[n.least+1]++
	}
	for i := 1; i < len(heads); i++ {
		heads[i] += heads[i-1]
	}
	order := make([]uint32, len(nodes))
	for i, n := range nodes {
		order[heads[n.least]] = uint32(i)
		heads[n.least]++
	}
	return order
}
