package batch

import (
	"crypto/sha256"
	"encoding/binary"
)

// DefaultBlockSize is how many tokens a block of vLLM's cache holds.
const DefaultBlockSize = 16

// Hash stands for a whole block and all blocks before it.
type Hash uint64

// Hashes returns the hashes of all full blocks of some ids, each with the hash before it, as vLLM chains them. The salt
// is part of the first.
func Hashes(salt string, size int, ids ...[]uint32) []Hash {
	var (
		all    []Hash
		parent [sha256.Size]byte
		block  = append(make([]byte, 0, len(parent)+4*size+len(salt)), parent[:]...)
		filled int
	)
	for _, part := range ids {
		for _, id := range part {
			block = binary.LittleEndian.AppendUint32(block, id)
			if filled++; filled < size {
				continue
			}
			if len(all) == 0 {
				block = append(block, salt...)
			}
			parent = sha256.Sum256(block)
			all = append(all, Hash(binary.LittleEndian.Uint64(parent[:])))
			block, filled = append(block[:0], parent[:]...), 0
		}
	}
	return all
}

// block is a block of the cache. A block that no request uses is in the queue of free blocks, and its tokens stay in
// the cache until it is given to another request.
type block struct {
	users      int
	cached     bool
	hash       Hash
	twin       *block // the next block with the same hash: two requests may have computed it at once
	next, prev *block // in the queue of free blocks
}

// Blocks is the cache of an engine: a fixed number of blocks, of which those are given away first that were freed
// first. It follows vLLM's BlockPool (vllm/v1/core/block_pool.py).
type Blocks struct {
	usable, unused, free int
	queue                block // the head of a ring
	cached               map[Hash]*block
}

// NewBlocks returns a cache of so many blocks. As in vLLM, one of them is never used.
func NewBlocks(total int) *Blocks {
	b := &Blocks{usable: total - 1, unused: total - 1, free: total - 1, cached: map[Hash]*block{}}
	b.queue.next, b.queue.prev = &b.queue, &b.queue
	return b
}

// Usage returns the part of the blocks that requests use, from 0 to 1.
func (b *Blocks) Usage() float64 { return 1 - float64(b.free)/float64(max(b.usable, 1)) }

// find returns the cached blocks with which these hashes begin.
func (b *Blocks) find(hashes []Hash) []*block {
	var found []*block
	for _, h := range hashes {
		one := b.cached[h]
		if one == nil {
			break
		}
		found = append(found, one)
	}
	return found
}

// touch takes cached blocks into use.
func (b *Blocks) touch(found []*block) {
	for _, one := range found {
		if one.users == 0 {
			one.prev.next, one.next.prev = one.next, one.prev
			b.free--
		}
		one.users++
	}
}

// idle returns how many of some blocks no request uses.
func idle(found []*block) int {
	n := 0
	for _, one := range found {
		if one.users == 0 {
			n++
		}
	}
	return n
}

// take returns a free block, whose former content is then no longer cached. There must be one.
func (b *Blocks) take() *block {
	b.free--
	if b.unused > 0 { // they were at the head of the queue from the beginning
		b.unused--
		return &block{users: 1}
	}
	one := b.queue.next
	one.prev.next, one.next.prev = one.next, one.prev
	b.forget(one)
	one.users = 1
	return one
}

// remember makes a full block known by its hash.
func (b *Blocks) remember(one *block, h Hash) {
	one.cached, one.hash, one.twin = true, h, b.cached[h]
	b.cached[h] = one
}

func (b *Blocks) forget(one *block) {
	if !one.cached {
		return
	}
	one.cached = false
	if first := b.cached[one.hash]; first != one {
		for first.twin != one {
			first = first.twin
		}
		first.twin = one.twin
	} else if one.twin != nil {
		b.cached[one.hash] = one.twin
	} else {
		delete(b.cached, one.hash)
	}
	one.twin = nil
}

// release ends a request's use of its blocks. The last of them is given away first.
func (b *Blocks) release(held []*block) {
	for i := len(held) - 1; i >= 0; i-- {
		one := held[i]
		if one.users--; one.users == 0 {
			one.prev, one.next = b.queue.prev, &b.queue
			one.prev.next, b.queue.prev = one, one
			b.free++
		}
	}
}

// Read returns how many tokens of a prompt are cached, in whole blocks of a size and never all of them, and then caches
// the part of the prompt for which there is room. It is for engines that are not asked how long anything takes.
func (b *Blocks) Read(salt string, size int, prompt []uint32) int {
	hashes := Hashes(salt, size, prompt)
	found := b.find(hashes[:max(len(prompt)-1, 0)/size])
	b.touch(found)
	held := found
	for _, h := range hashes[len(found):] {
		if b.free == 0 {
			break
		}
		one := b.take()
		b.remember(one, h)
		held = append(held, one)
	}
	b.release(held)
	return len(found) * size
}
