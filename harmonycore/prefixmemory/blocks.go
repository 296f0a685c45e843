package prefixmemory

import (
	"unsafe"

	"github.com/harmonyedge/harmonyedge/internal/rawjson"
)

// blocks is memory in blocks of one size, which are handed out in chains. Blocks are numbered from 1 on. It allocates
// chunks of them as they are needed, and keeps them.
type blocks struct {
	limit  int
	chunks [][]byte
	// next is the block behind each block, or 0.
	next []uint16
	free uint16
	// idle is how many blocks are free.
	idle int
}

const (
	blockSize = 1 << 10
	perChunk  = 256
	// maxBlocks is how many blocks have a number.
	maxBlocks = 1<<16 - 1
)

// spare returns how many blocks could be handed out.
func (b *blocks) spare() int { return b.idle + b.limit - b.made() }

func (b *blocks) made() int { return max(len(b.next)-1, 0) }

// take hands out a chain of n blocks, which must be to spare. It returns the first.
func (b *blocks) take(n int) uint16 {
	for b.idle < n {
		b.grow()
	}
	b.idle -= n
	first, last := b.free, uint16(0)
	for range n {
		last, b.free = b.free, b.next[b.free]
	}
	b.next[last] = 0
	return first
}

func (b *blocks) grow() {
	if len(b.next) == 0 {
		b.next = append(make([]uint16, 0, b.limit+1), 0)
	}
	n := min(perChunk, b.limit-b.made())
	if n <= 0 {
		n = perChunk // never reached: there are blocks to spare
	}
	b.chunks = append(b.chunks, make([]byte, n*blockSize))
	for range n {
		b.next = append(b.next, b.free)
		b.free = uint16(len(b.next) - 1)
	}
	b.idle += n
}

// give takes a chain back.
func (b *blocks) give(first uint16) {
	for first != 0 {
		next := b.next[first]
		b.next[first], b.free = b.free, first
		b.idle++
		first = next
	}
}

func (b *blocks) at(n uint16) []byte {
	i := int(n) - 1
	from := i % perChunk * blockSize
	return b.chunks[i/perChunk][from : from+blockSize]
}

// cursor is a place in a chain.
type cursor struct {
	*blocks
	block uint16
	at    int
}

// write writes data into the chain, which has room for it.
func (c *cursor) write(data []byte) {
	for len(data) > 0 && c.block != 0 {
		n := copy(c.blocks.at(c.block)[c.at:], data)
		data = data[n:]
		c.move(n)
	}
}

// read appends the next n bytes of the chain to dst.
func (c *cursor) read(dst []byte, n int) []byte {
	for n > 0 && c.block != 0 {
		from := c.blocks.at(c.block)[c.at:]
		from = from[:min(n, len(from))]
		dst = append(dst, from...)
		n -= len(from)
		c.move(len(from))
	}
	return dst
}

// is reports whether the chain goes on with data.
func (c *cursor) is(data []byte) bool {
	for len(data) > 0 && c.block != 0 {
		from := c.blocks.at(c.block)[c.at:]
		from = from[:min(len(data), len(from))]
		if rawjson.After(data, 0, from) < 0 {
			return false
		}
		data = data[len(from):]
		c.move(len(from))
	}
	return len(data) == 0
}

// skip passes over n bytes.
func (c *cursor) skip(n int) {
	for n > 0 && c.block != 0 {
		step := min(n, blockSize-c.at)
		n -= step
		c.move(step)
	}
}

func (c *cursor) move(n int) {
	if c.at += n; c.at == blockSize {
		c.block, c.at = c.next[c.block], 0
	}
}

// part reads the next part.
func (c *cursor) part() Part {
	a, b := c.pair()
	return Part{Size: int(a >> 4), Tokens: int(b), Kind: Kind(a & 15)}
}

func (c *cursor) writePart(p *Part) { c.writePair(uint32(p.Size)<<4|uint32(p.Kind), uint32(p.Tokens)) }

// pair reads two numbers. Pairs do not cross the border of a block.
func (c *cursor) pair() (a, b uint32) {
	if c.block == 0 {
		return 0, 0
	}
	from := c.blocks.at(c.block)[c.at:]
	if len(from) < partSize {
		return 0, 0
	}
	p := *(*[2]uint32)(unsafe.Pointer(unsafe.SliceData(from)))
	c.move(partSize)
	return p[0], p[1]
}

func (c *cursor) writePair(a, b uint32) {
	pair := [2]uint32{a, b}
	c.write((*[partSize]byte)(unsafe.Pointer(&pair))[:])
}

// partSize is the size of a [Part] in a block, which a block is a multiple of, and spanSize that of a [Span].
const (
	partSize = 8
	spanSize = partSize
)
