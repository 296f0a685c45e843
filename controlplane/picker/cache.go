package picker

import "slices"

// cache is what is probably in the block cache of a server: the hashes of the blocks of prompts that were sent to it
// last. The zero value is empty.
//
// The blocks of a prompt are a chain: the hash of a block depends on all blocks before it. touch makes the first block
// of a chain the newest, so the last one is dropped first, and a cache that has a block has all blocks before it too.
// found relies on that.
type cache struct {
	places map[uint64]uint32 // by hash, the block's place in blocks
	blocks []block
	// newest and oldest are the ends of the list of all blocks. They have no meaning while blocks is empty.
	newest, oldest uint32
}

// block is a block in the list of a [cache].
type block struct {
	hash         uint64
	newer, older uint32 // places
}

// found returns how many blocks of a chain the cache has. They are the first ones.
func (c *cache) found(chain []uint64) int {
	if len(c.places) == 0 || len(chain) == 0 {
		return 0
	}
	if _, ok := c.places[chain[0]]; !ok {
		return 0 // the usual case
	}
	n, _ := slices.BinarySearchFunc(chain, false, func(hash uint64, _ bool) int {
		if _, ok := c.places[hash]; ok {
			return -1
		}
		return 1
	})
	return n
}

// touch makes the blocks of a chain the newest ones. The cache then has at most limit blocks.
func (c *cache) touch(chain []uint64, limit int) {
	if limit <= 0 {
		*c = cache{}
		return
	}
	chain = chain[:min(len(chain), limit)]
	for _, hash := range slices.Backward(chain) {
		place, ok := c.places[hash]
		switch {
		case ok:
			c.unlink(place)
		case len(c.blocks) < limit:
			place = uint32(len(c.blocks))
			c.blocks = append(c.blocks, block{hash: hash})
			if c.places == nil {
				c.places = map[uint64]uint32{}
			}
			c.places[hash] = place
		default:
			place = c.oldest
			c.unlink(place)
			delete(c.places, c.blocks[place].hash)
			c.blocks[place].hash = hash
			c.places[hash] = place
		}
		c.link(place)
	}
}

// unlink takes a block out of the list.
func (c *cache) unlink(place uint32) {
	b := c.blocks[place]
	switch place {
	case c.newest:
		c.newest = b.older
	default:
		c.blocks[b.newer].older = b.older
	}
	switch place {
	case c.oldest:
		c.oldest = b.newer
	default:
		c.blocks[b.older].newer = b.newer
	}
}

// link makes a block that is not in the list the newest one.
func (c *cache) link(place uint32) {
	if len(c.places) == 1 { // it is the only one
		c.newest, c.oldest = place, place
		return
	}
	c.blocks[place].older = c.newest
	c.blocks[c.newest].newer = place
	c.newest = place
}

// shrink drops the oldest blocks until there are at most limit, and gives their memory back.
func (c *cache) shrink(limit int) {
	if len(c.blocks) <= limit {
		return
	}
	kept := make([]uint64, 0, max(limit, 0))
	for place := c.newest; len(kept) < limit; place = c.blocks[place].older {
		kept = append(kept, c.blocks[place].hash)
	}
	*c = cache{}
	c.touch(kept, limit)
}

func (c *cache) len() int { return len(c.blocks) }
