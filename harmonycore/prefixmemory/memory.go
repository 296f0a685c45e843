package prefixmemory

import "unsafe"

// Kind is a set of what a [Part] is.
type Kind uint8

// The kinds. A Passing part is left out as soon as a Lasting one comes after it. A Missing part has no text, because it
// was left out when its node was remembered. A Foreign part counts on its own.
const (
	Passing Kind = 1 << iota
	Lasting
	Missing
	Foreign
)

// Part is a part of a text.
type Part struct {
	// Size is its size in bytes, and Tokens how many tokens it stands for.
	Size, Tokens int
	Kind         Kind
}

// Span is a part of a body that the caller wants to see again: it is in a node's bytes, and changes how what follows
// them is read.
type Span struct{ From, To int }

// State are numbers of the caller's that belong to the end of a node.
type State [18]int64

// Entry is what is remembered for a part of a body: its text, of these parts, and what of the body is to be read again.
type Entry struct {
	Parts []Part
	Text  []byte
	Spans []Span
	State State
}

// Memory remembers texts for the beginnings of bodies. They form a tree: a root is a body's first part with all that
// comes after its middle, and each further node is a part of the middle that follows its parent's. It is not safe for
// concurrent use.
type Memory struct {
	hasher
	blocks
	// allowed is how many bytes it may take.
	allowed int
	// nodes are numbered from 1 on. free is the first free one, by [node.next].
	nodes    []node
	free     uint16
	maxNodes int
	// newest and oldest are the ends of the list of nodes by their last use. A parent comes before its children, so the
	// oldest has none.
	newest, oldest uint16
	roots          uint16
	// round numbers the searches. The nodes that the last one has used are not forgotten.
	round  uint64
	owners uint64
	path   []uint16
	// kept are values of the caller's for nodes, the one used last first.
	kept [maxKept]kept
}

// kept is a value for a node.
type kept struct {
	node  uint16
	value any
}

// maxKept is how many nodes may have a value.
const maxKept = 4

// node is a part of a body, and the text for it.
type node struct {
	// parent, child and next are the node above, the first one below, and the next one below the same parent.
	parent, child, next uint16
	// newer and older are its neighbours in the list by use.
	newer, older uint16
	// first is the first of its blocks, which begin with parts and spans.
	first uint16
	// final reports whether a part is Lasting, and missing whether one is Missing.
	final, missing bool
	parts, spans   uint32
	round          uint64
	owner          Tag
	// own is of the node's bytes. rest is of what comes after the middle, for a root.
	own, rest Digest
	// all is of all its parts, and passing of those that are Passing.
	all, passing total
	state        State
}

// total counts parts.
type total struct{ size, tokens, foreign int }

func (t *total) add(p *Part) {
	t.size += p.Size
	t.tokens += p.Tokens
	if p.Kind&Foreign != 0 {
		t.foreign += p.Tokens
	}
}

func (t *total) plus(o total, sign int) {
	t.size += sign * o.size
	t.tokens += sign * o.tokens
	t.foreign += sign * o.foreign
}

const (
	// perNode is how many bytes of the memory there are for a node.
	perNode = 8 << 10
	// maxNodes is how many nodes have a number.
	maxNodes = 1<<16 - 1
)

// MaxLimit is the largest limit of a [Memory], in bytes.
const MaxLimit = 64 << 20

// New returns a memory of at most limit bytes. key is random and secret.
func New(limit int, key *[KeySize]byte) *Memory {
	m := &Memory{hasher: newHasher(key)}
	m.SetLimit(limit)
	return m
}

// SetLimit makes the memory one of at most limit bytes. If that is another limit than before, it forgets everything.
func (m *Memory) SetLimit(limit int) {
	if limit = min(limit, MaxLimit); limit == m.allowed {
		return
	}
	m.allowed = limit
	m.maxNodes = min(max(limit/perNode-1, 0), maxNodes-1)
	m.blocks.limit = min(max(limit-(m.maxNodes+1)*int(unsafe.Sizeof(node{}))-2, 0)/(blockSize+2), maxBlocks)
	m.Clear()
}

// Owner returns the number of a new owner of nodes.
func (m *Memory) Owner() uint64 {
	m.owners++
	return m.owners
}

// Identity returns the tag of what must be the same for a node to be found, beside the bytes: of what before stands
// for, and of texts.
func (m *Memory) Identity(before Tag, texts ...string) Tag { return m.texts(before, texts) }

// Join returns the tag of two.
func (m *Memory) Join(a, b Tag) Tag {
	s := m.sip(ofPairs)
	s.word(a.a)
	s.word(a.b)
	s.word(b.a)
	s.word(b.b)
	return s.sum()
}

// Digest returns what is kept of data.
func (m *Memory) Digest(data []byte) Digest {
	return Digest{len(data), sampleOf(data), m.hasher.bytes(data)}
}

// Clear forgets everything, and frees the memory.
func (m *Memory) Clear() {
	m.blocks = blocks{limit: m.blocks.limit}
	m.nodes, m.free, m.newest, m.oldest, m.roots, m.path = nil, 0, 0, 0, 0, nil
	m.kept = [maxKept]kept{}
}

// Bytes returns how much memory is allocated, in bytes.
func (m *Memory) Bytes() int {
	return m.made()*blockSize + cap(m.blocks.next)*2 + cap(m.nodes)*int(unsafe.Sizeof(node{}))
}

// Nodes returns how many nodes there are.
func (m *Memory) Nodes() int {
	n := 0
	for at := m.newest; at != 0; at = m.nodes[at].older {
		n++
	}
	return n
}

// search looks for one body. Hashing is bounded, so a client that sends many bodies which nearly agree makes no request
// slow.
type search struct {
	m    *Memory
	body []byte
	left int
	// from, to and tag are of the last bytes that were hashed.
	from, to int
	tag      Tag
}

// is reports whether the bytes from here to there are those of d.
func (s *search) is(from int, d *Digest) bool {
	to := from + d.size
	if from < 0 || d.size < 0 || to > len(s.body) || sampleOf(s.body[from:to]) != d.sample {
		return false
	}
	if s.from != from || s.to != to {
		if s.left -= d.size; s.left < 0 {
			return false
		}
		s.from, s.to, s.tag = from, to, s.m.hasher.bytes(s.body[from:to])
	}
	return s.tag == d.tag
}

// Find returns the longest part of a body that is remembered for this identity.
func (m *Memory) Find(owner Tag, body []byte) Match {
	m.round++
	m.path = m.path[:0]
	s := search{m: m, body: body, left: 3*len(body) + blockSize, from: -1}
	root := uint16(0)
	for at := m.roots; at != 0; at = m.nodes[at].next {
		n := &m.nodes[at]
		if n.owner != owner || root != 0 && m.nodes[root].own.size >= n.own.size ||
			n.own.size+n.rest.size > len(body) {
			continue
		}
		if s.is(len(body)-n.rest.size, &n.rest) && s.is(0, &n.own) {
			root = at
		}
	}
	if root == 0 {
		return Match{m: m}
	}
	end := m.nodes[root].own.size
	middle := len(body) - m.nodes[root].rest.size
	m.path = append(m.path, root)
	for at := root; at != 0; {
		best := uint16(0)
		for child := m.nodes[at].child; child != 0; child = m.nodes[child].next {
			n := &m.nodes[child]
			if end+n.own.size <= middle && (best == 0 || n.own.size > m.nodes[best].own.size) && s.is(end, &n.own) {
				best = child
			}
		}
		if at = best; best != 0 {
			m.path = append(m.path, best)
			end += m.nodes[best].own.size
		}
	}
	m.touch()
	return Match{m: m, n: len(m.path), end: end}
}

// touch makes the nodes of the path the newest.
func (m *Memory) touch() {
	for i := len(m.path) - 1; i >= 0; i-- {
		at := m.path[i]
		m.nodes[at].round = m.round
		m.unlist(at)
		m.list(at)
	}
}

func (m *Memory) list(at uint16) {
	n := &m.nodes[at]
	n.newer, n.older = 0, m.newest
	if m.newest != 0 {
		m.nodes[m.newest].newer = at
	} else {
		m.oldest = at
	}
	m.newest = at
}

func (m *Memory) unlist(at uint16) {
	n := &m.nodes[at]
	if n.newer != 0 {
		m.nodes[n.newer].older = n.older
	} else if m.newest == at {
		m.newest = n.older
	}
	if n.older != 0 {
		m.nodes[n.older].newer = n.newer
	} else if m.oldest == at {
		m.oldest = n.newer
	}
	n.newer, n.older = 0, 0
}

// forget forgets the node that was not used for the longest time, and reports whether there is one that may be
// forgotten.
func (m *Memory) forget() bool {
	at := m.oldest
	if at == 0 || m.nodes[at].round == m.round || m.nodes[at].child != 0 {
		return false
	}
	m.remove(at)
	return true
}

// remove forgets a node that has none below it.
func (m *Memory) remove(at uint16) {
	n := &m.nodes[at]
	for i := range m.kept {
		if m.kept[i].node == at {
			m.kept[i] = kept{}
		}
	}
	m.unlist(at)
	link := &m.roots
	if n.parent != 0 {
		link = &m.nodes[n.parent].child
	}
	for *link != 0 && *link != at {
		link = &m.nodes[*link].next
	}
	*link = n.next
	m.give(n.first)
	*n = node{next: m.free}
	m.free = at
}

// removeAll forgets a node and all below it.
func (m *Memory) removeAll(at uint16) {
	for leaf := at; ; leaf = at {
		for m.nodes[leaf].child != 0 {
			leaf = m.nodes[leaf].child
		}
		m.remove(leaf)
		if leaf == at {
			return
		}
	}
}

// renew makes a node that was remembered for the same bytes the last one of the path, if it has the same text.
// Otherwise it forgets it: time has passed.
func (m *Memory) renew(at uint16, e *Entry) bool {
	n := &m.nodes[at]
	same := int(n.parts) == len(e.Parts) && int(n.spans) == len(e.Spans) && n.all.size == len(e.Text)
	c := cursor{&m.blocks, n.first, 0}
	for i := 0; same && i < len(e.Parts); i++ {
		same = c.part() == e.Parts[i]
	}
	c.skip(int(n.spans) * spanSize)
	if !same || !c.is(e.Text) {
		m.removeAll(at)
		return false
	}
	n.state = e.State
	m.path = append(m.path, at)
	m.touch()
	return true
}

// makeRoom makes room for a node of so many blocks, and reports whether there is.
func (m *Memory) makeRoom(blocks int) bool {
	if blocks > m.blocks.limit/2 {
		return false
	}
	for m.spare() < blocks || m.free == 0 && max(len(m.nodes), 1) > m.maxNodes {
		if !m.forget() {
			return false
		}
	}
	return true
}

// add remembers a node below parent, or a root, which begins at from in the body. It reports whether there was room for
// it.
func (m *Memory) add(n *node, parent uint16, from int, e *Entry) bool {
	blocks := (len(e.Parts)*partSize + len(e.Spans)*spanSize + len(e.Text) + blockSize - 1) / blockSize
	if !m.makeRoom(blocks) {
		return false
	}
	at := m.free
	if at != 0 {
		m.free = m.nodes[at].next
	} else {
		if len(m.nodes) == 0 {
			m.nodes = make([]node, 1, m.maxNodes+1)
		}
		m.nodes = append(m.nodes, node{})
		at = uint16(len(m.nodes) - 1)
	}
	n.parts, n.spans, n.parent, n.state = uint32(len(e.Parts)), uint32(len(e.Spans)), parent, e.State
	if blocks > 0 {
		n.first = m.take(blocks)
	}
	m.write(n, from, e)
	link := &m.roots
	if parent != 0 {
		link = &m.nodes[parent].child
	}
	n.next = *link
	*link = at
	m.nodes[at] = *n
	m.path = append(m.path, at)
	m.touch()
	return true
}

// write writes what is remembered into the blocks of a node, which begins at from in the body.
func (m *Memory) write(n *node, from int, e *Entry) {
	c := cursor{&m.blocks, n.first, 0}
	for i := range e.Parts {
		p := &e.Parts[i]
		c.writePart(p)
		n.all.add(p)
		if p.Kind&Passing != 0 {
			n.passing.add(p)
		}
		n.final, n.missing = n.final || p.Kind&Lasting != 0, n.missing || p.Kind&Missing != 0
	}
	for _, span := range e.Spans {
		c.writePair(uint32(span.From-from), uint32(span.To-from))
	}
	c.write(e.Text)
}
