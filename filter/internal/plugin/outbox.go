package plugin

import (
	"github.com/harmonyedge/harmonyedge/filter/internal/tapjson"
	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// Frames wait in blocks until they are sent, one block with each call. Blocks are used again, because garbage of this
// size is what a collector is slowest to find.
const (
	// blockSize is the size of a block, in bytes. A frame lies in one block.
	blockSize = 256 << 10
	// maxBlocks is how many blocks a VM has: 4 MiB. The last one is for ends of requests only, so that a recorder always
	// learns of them.
	maxBlocks = 16
	// pieceSize is the largest payload of a frame. A larger payload comes in several frames.
	pieceSize = 64 << 10
)

// blocks are the blocks of a VM. Other needs of the VM for its memory come first.
type blocks struct {
	heap *heap
	// free are the blocks that hold nothing. made is how many there are in all.
	free [][]byte
	made int
	// json is memory for the payloads that are written here.
	json []byte
}

// take returns an empty block, or nil. limit is how much of the heap may be in use, in bytes: a quarter of it stays
// free. end reports whether it is for the end of a request, for which the last block may be taken too. endsOnly reports
// whether the block is that one.
func (b *blocks) take(limit uint64, end bool) (block []byte, endsOnly bool) {
	n := len(b.free)
	left := n + maxBlocks - b.made
	if left == 0 || left == 1 && !end {
		return nil, false
	}
	if n > 0 {
		block := b.free[n-1]
		b.free[n-1], b.free = nil, b.free[:n-1]
		return block, left == 1
	}
	if !b.heap.fits(blockSize+limit/4, limit) {
		return nil, false
	}
	b.made++
	return make([]byte, 0, blockSize), left == 1
}

func (b *blocks) give(block []byte) { b.free = append(b.free, block[:0]) }

// outbox has the frames of a plugin's requests that wait, in order.
type outbox struct {
	blocks *blocks
	// limit is the limit of [blocks.take].
	limit uint64
	// waiting are the blocks with frames. The last one still has room, for ends of requests alone if endsOnly is set.
	waiting  [][]byte
	endsOnly bool
}

func (o *outbox) empty() bool { return len(o.waiting) == 0 }

// takeOver adds the frames of another outbox.
func (o *outbox) takeOver(other *outbox) {
	if len(other.waiting) > 0 {
		o.waiting, o.endsOnly = append(o.waiting, other.waiting...), other.endsOnly
	}
}

// next takes the first block.
func (o *outbox) next() []byte {
	block := o.waiting[0]
	copy(o.waiting, o.waiting[1:])
	o.waiting[len(o.waiting)-1] = nil
	o.waiting = o.waiting[:len(o.waiting)-1]
	return block
}

// add adds a frame, and reports whether there was room. Payloads are at most [pieceSize] long.
func (o *outbox) add(f *tap.Frame) bool {
	last, end := len(o.waiting)-1, f.Kind == tap.End
	if last < 0 || o.endsOnly && !end || cap(o.waiting[last])-len(o.waiting[last]) < tap.HeaderSize+len(f.Payload) {
		block, endsOnly := o.blocks.take(o.limit, end)
		if block == nil {
			return false
		}
		o.waiting, o.endsOnly, last = append(o.waiting, block), endsOnly, last+1
	}
	o.waiting[last] = tap.Append(o.waiting[last], *f)
	return true
}

// addAll adds a payload in as many frames as it takes, and reports whether there was room for all of them. An empty one
// is no frame.
func (o *outbox) addAll(f *tap.Frame) bool {
	for rest := f.Payload; len(rest) > 0; {
		f.Payload = rest[:min(len(rest), pieceSize)]
		if !o.add(f) {
			return false
		}
		rest = rest[len(f.Payload):]
	}
	return true
}

// addLost counts the frames of requests that were lost, where the end of such a request waits.
func (o *outbox) addLost(counts map[uint32]int) {
	if len(counts) == 0 {
		return
	}
	for _, block := range o.waiting {
		each(block, func(f *tap.Frame) {
			if n := counts[f.Stream]; n > 0 && f.Kind == tap.End {
				tapjson.AddLost(f.Payload, n)
				delete(counts, f.Stream)
			}
		})
	}
}

// each calls see with the frames of a block.
func each(block []byte, see func(f *tap.Frame)) {
	for len(block) > 0 {
		f, rest, err := tap.Read(block)
		if err != nil {
			return // cannot happen: the outbox wrote them
		}
		see(&f)
		block = rest
	}
}
