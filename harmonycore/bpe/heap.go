package bpe

// node is the part that begins at its own place; see shortScratch.
type node struct {
	rank uint32 // of the pair that begins here, noRank if it makes no token
	id   uint32
	next uint32
	prev uint32
}

const noRank = ^uint32(0)

// mergeHeap merges a piece of any length in O(n log n), with scratch of 24
// bytes per byte. The heap holds rank<<32 | place, so its least element is the
// leftmost pair of the lowest rank. Elements are not removed when a pair
// changes: parts only grow, a pair never gets an old rank back, and so an
// element that does not match its node's rank is stale.
func (e *Encoder) mergeHeap(dst []uint32, v *Vocabulary, piece []byte) []uint32 {
	n := len(piece)
	if cap(e.nodes) < n {
		e.nodes = make([]node, max(n, windowSize))
	}
	nodes := e.nodes[:n]
	heap := e.heap[:0]
	for i := range nodes {
		rank := noRank
		if i+1 < n {
			if id, ok := v.joined(piece[i : i+2]); ok {
				rank = id
				heap = append(heap, uint64(rank)<<32|uint64(i))
			}
		}
		nodes[i] = node{rank: rank, id: v.single(piece[i]), next: uint32(i + 1), prev: uint32(i - 1)}
	}
	for i := len(heap)/2 - 1; i >= 0; i-- {
		siftDown(heap, i)
	}
	for len(heap) > 0 {
		least := heap[0]
		at, rank := int(uint32(least)), uint32(least>>32)
		if at >= n || nodes[at].rank != rank {
			heap = pop(heap)
			continue
		}
		part := &nodes[at]
		gone := int(part.next)
		if gone >= n {
			break // never: a pair has a second part
		}
		after := int(nodes[gone].next)
		nodes[gone].rank = noRank
		part.id, part.rank, part.next = rank, noRank, uint32(after)
		replaced := false
		if after < n {
			nodes[after].prev = uint32(at)
			if id, ok := v.joined(piece[at:min(int(nodes[after].next), n)]); ok {
				part.rank = id
				heap[0] = uint64(id)<<32 | uint64(at) // in place of the merged pair
				siftDown(heap, 0)
				replaced = true
			}
		}
		if !replaced {
			heap = pop(heap)
		}
		if before := int(part.prev); at > 0 && before < n {
			nodes[before].rank = noRank
			if id, ok := v.joined(piece[before:after]); ok {
				nodes[before].rank = id
				heap = push(heap, uint64(id)<<32|uint64(before))
			}
		}
	}
	e.heap = heap[:0]
	for i := 0; i < n; i = int(nodes[i].next) {
		dst = append(dst, nodes[i].id)
	}
	return dst
}

func push(h []uint64, x uint64) []uint64 {
	h = append(h, x)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h[up] <= x {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = x
	return h
}

func pop(h []uint64) []uint64 {
	last := len(h) - 1
	if last < 0 {
		return h
	}
	h[0] = h[last]
	h = h[:last]
	siftDown(h, 0)
	return h
}

func siftDown(h []uint64, i int) {
	if i >= len(h) {
		return
	}
	x := h[i]
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if right := down + 1; right < len(h) && h[right] < h[down] {
			down = right
		}
		if h[down] >= x {
			break
		}
		h[i] = h[down]
		i = down
	}
	h[i] = x
}
