package bpe

// node is a node of the trie during construction. The sorted tokens from … to-1, which share their first depth bytes,
// continue from it.
type node struct {
	from, to, depth         uint32
	minID                   uint32 // lowest id below it
	firstChild, childrenEnd uint32 // its children are firstChild … childrenEnd-1
	cell                    uint32 // the cell that leads to it
}

// child is the branch below a node under one byte: the sorted tokens from … to-1. If own is set, the first of them ends
// there.
type child struct {
	from, to uint32
	node     uint32 // the number of its node, 0 for none
	label    byte
	own      bool
}

// plant arranges the trie in cells.
func (b *builder) plant() bool {
	count := len(b.sorted)
	nodes := append(make([]node, 0, count), node{to: uint32(count)})
	children := make([]child, 0, 2*count)
	b.array.cells = make([]uint32, 0, 2*count)
	b.array.ids = make([]uint16, 0, 2*count)
	for i := 0; i < len(nodes); i++ {
		nodes[i].firstChild = uint32(len(children))
		children, nodes = b.unfold(children, nodes, nodes[i])
		nodes[i].childrenEnd = uint32(len(children))
	}
	for _, i := range byMinID(nodes, len(b.ends)) {
		n := nodes[i]
		below := children[n.firstChild:n.childrenEnd]
		base, ok := b.array.place(below)
		if !ok {
			return false
		}
		if i == 0 {
			b.root = base
		} else {
			b.array.cells[n.cell] |= base
		}
		for _, c := range below {
			at := base + uint32(c.label)
			nodes[c.node].cell = at // for a leaf this is the root, which has no cell
			b.array.cells[at], b.array.ids[at] = b.cell(c)
		}
	}
	return b.array.hide()
}

// unfold appends the children of n, in the order of their labels, and their nodes.
func (b *builder) unfold(children []child, nodes []node, n node) ([]child, []node) {
	for from := n.from; from < n.to; {
		minID := b.sorted[from]
		to := from + 1
		for to < n.to && uint32(b.shared[to]) > n.depth {
			minID = min(minID, b.sorted[to])
			to++
		}
		token := b.text[b.starts[from]:b.starts[from+1]]
		c := child{from: from, to: to, label: token[n.depth], own: uint32(len(token)) == n.depth+1}
		if to-from > 1 {
			c.node = uint32(len(nodes))
			below := node{from: from, to: to, depth: n.depth + 1, minID: minID}
			if c.own { // that token ends here
				below.from++
			}
			nodes = append(nodes, below)
		}
		children = append(children, c)
		from = to
	}
	return children, nodes
}

// cell returns the cell of a child, without its base, and the low bits of its id.
func (b *builder) cell(c child) (cell uint32, low uint16) {
	cell = uint32(c.label) << labelShift
	switch {
	case c.own:
		cell |= wholeFlag
	case c.node == 0:
		cell |= tailFlag
	default:
		return cell, 0
	}
	id := b.sorted[c.from]
	return cell | id>>16<<idShift, uint16(id)
}

// byMinID returns the order in which nodes are arranged: the lower the least id, the nearer to the beginning. A node is
// later in nodes than its parent and its least id is not lower, so it also comes later in this order.
func byMinID(nodes []node, ids int) []uint32 {
	heads := make([]uint32, ids+1)
	for _, n := range nodes {
		heads[n.minID+1]++
	}
	for i := 1; i < len(heads); i++ {
		heads[i] += heads[i-1]
	}
	order := make([]uint32, len(nodes))
	for i, n := range nodes {
		order[heads[n.minID]] = uint32(i)
		heads[n.minID]++
	}
	return order
}
