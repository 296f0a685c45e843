package bpe

import (
	"errors"
	"unsafe"
)

// ErrTable is returned by [Open] for bytes that are not a table of this version, and by [Build] for tokens that a table
// cannot hold.
var ErrTable = errors.New("bpe: not a vocabulary table of this version")

// The table. All numbers are in the byte order of the machine, which is little-endian for WebAssembly and nearly
// everywhere else:
//
//	header   headerSize bytes, fields below; from atFewest on u32 for each byte: its [Fewest]
//	cells    u64 each: a trie of the tokens' bytes as a double array
//	index    u32 per id: offset of its bytes << 8 | their number
//	tails    the rest of a branch of the trie that has only one token:
//	         u32 id | length << 18, then the bytes
//	bytes    of all tokens, by id
//
// A node of the trie is a base. The cell of its child under byte b is base+b, if that cell has the label b. No two
// nodes share a base, so the label identifies the parent of a cell. Base 0 belongs to no node: nothing continues from
// there.
//
// The reason for this layout is the cost of memory outside the second-level cache (on the machine used for tuning, 7 ns
// within 512 KB and 160 ns in 4 MB). The nodes of low ids, which make up two thirds to nine tenths of all text, lie
// together at the beginning. One walk finds a word. While merging, a pair is looked up by continuing from the left
// part's node, and most pairs that are not tokens end at the first byte.
const (
	magic   = "HBPE"
	version = 3

	headerSize = atFewest + 4*256
	atVersion  = 4
	atCount    = 8  // number of ids
	atMaxLen   = 12 // length of the longest token, in bytes
	atCells    = 16 // number of cells
	atTails    = 20 // bytes of tails
	atBytes    = 24 // bytes of all tokens
	atRoot     = 28 // base of the root
	atFewest   = 64 // the bounds of [Fewest]

	// The fields of a cell: label, usedFlag, more flags, base, id.
	usedFlag  = 1 << 8
	labelMask = 1<<9 - 1 // the label and usedFlag
	wholeFlag = 1 << 9   // a token ends here
	tailFlag  = 1 << 10  // one token continues from here: the id is the offset of its tail
	baseShift = 12
	baseMask  = 1<<20 - 1
	idShift   = 32

	// noCell stands for no cell: its id is higher than every other.
	noCell = ^uint64(0)

	idBits   = 18
	idMask   = 1<<idBits - 1
	tailHead = 4 // bytes before those of a tail

	maxCount  = idMask + 1
	maxCells  = baseMask + 1
	maxToken  = 255 // bytes; the length fields have 8 bits
	maxBlob   = 1 << 24
	sizeShift = 8 // in the index
)

// Vocabulary is a read-only view of one table. It does not copy the table, which must not change while the view is
// used. It is safe for concurrent use.
type Vocabulary struct {
	// head points to the first byte of the table. Addresses inside are computed where they are used, because for a pointer
	// into the middle of a block TinyGo's collector walks back to the block's beginning, 16 bytes at a time.
	head               unsafe.Pointer
	root, cells        uint32
	count, maxLen      uint32
	tailSize, blobSize uint32
	// Where the parts of the table begin.
	index, tails, blob uint32
}

// Open checks the header of table, its version, its lengths, and that the trie stays inside, and returns a view of it.
// A table damaged inside gives wrong answers or none, never a panic.
func Open(table []byte) (*Vocabulary, error) {
	if len(table) < headerSize || string(table[:len(magic)]) != magic {
		return nil, ErrTable
	}
	v := &Vocabulary{head: unsafe.Pointer(unsafe.SliceData(table))}
	v.count, v.maxLen = v.load32(atCount), v.load32(atMaxLen)
	v.cells, v.root = v.load32(atCells), v.load32(atRoot)
	v.tailSize, v.blobSize = v.load32(atTails), v.load32(atBytes)
	if v.load32(atVersion) != version || v.count == 0 || v.count > maxCount || v.maxLen == 0 || v.maxLen > maxToken ||
		v.cells > maxCells || v.tailSize > maxBlob || v.blobSize > maxBlob {
		return nil, ErrTable
	}
	v.index = headerSize + 8*v.cells
	v.tails = v.index + 4*v.count
	v.blob = v.tails + v.tailSize
	if uint64(len(table)) != uint64(v.blob)+uint64(v.blobSize) {
		return nil, ErrTable
	}
	if !v.inside(v.root) {
		return nil, ErrTable
	}
	for i := range v.cells {
		if !v.inside(uint32(v.cellAt(i)) >> baseShift) {
			return nil, ErrTable
		}
	}
	for b := range 256 {
		if _, ok := v.Lookup(string([]byte{byte(b)})); !ok {
			return nil, ErrTable // some input could not be encoded
		}
	}
	return v, nil
}

// inside reports whether the cells of all children of the node base exist.
func (v *Vocabulary) inside(base uint32) bool { return base+255 < v.cells }

// cellAt returns the cell at i. It needs no check, because [Open] has checked all bases.
func (v *Vocabulary) cellAt(i uint32) uint64 {
	return *(*uint64)(unsafe.Add(v.head, headerSize+8*uintptr(i)))
}

// load32 reads four bytes at an offset that the caller has checked.
func (v *Vocabulary) load32(at uint32) uint32 { return *(*uint32)(unsafe.Add(v.head, at)) }
