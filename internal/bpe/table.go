package bpe

import (
	"errors"
	"unsafe"
)

// ErrTable is what Open returns for bytes that are not a table of this version, and Build for tokens that no table can
// hold.
var ErrTable = errors.New("bpe: not a vocabulary table of this version")

// The table, all numbers in the byte order of the machine, which is little-endian for WebAssembly and nearly everywhere
// else:
//
//	header   headerSize bytes, fields below
//	cells    u64 each: a trie of the tokens' bytes as a double array
//	index    u32 per id: where its bytes lie << 8 | their number
//	tails    where a branch of the trie has one token only, the rest of it:
//	         u32 id | length << 18, then the bytes
//	bytes    of all tokens, by id
//
// A node of the trie is a base, and the cell of its child under byte b is base+b, if that cell has the label b. No two
// nodes share a base, so the label says whose child a cell is. Base 0 is nobody's: from there nothing goes on.
//
// Why so: what costs is memory beyond the second-level cache (on the machine this was tuned on 7 ns within 512 KB, 160
// ns in 4 MB). The nodes of low ids, two thirds to nine tenths of all text, lie together at the beginning. One walk
// finds a word; while merging, a pair is looked up by going on from the left part's node, and most pairs that make no
// token end at the first byte.
const (
	magic   = "HBPE"
	version = 2

	headerSize = 64
	atVersion  = 4
	atCount    = 8  // ids
	atMaxLen   = 12 // length of the longest token, in bytes
	atCells    = 16 // cells
	atTails    = 20 // bytes of tails
	atBytes    = 24 // bytes of all tokens
	atRoot     = 28 // base of the root

	// A cell: label, usedFlag, more flags, base, id.
	usedFlag  = 1 << 8
	labelMask = 1<<9 - 1 // the label and usedFlag
	wholeFlag = 1 << 9   // a token ends here
	tailFlag  = 1 << 10  // one token goes on from here: the id is the place of its tail
	baseShift = 12
	baseMask  = 1<<20 - 1
	idShift   = 32

	// none is no cell: its id is higher than every other.
	none = ^uint64(0)

	idBits   = 18
	idMask   = 1<<idBits - 1
	tailHead = 4 // bytes before those of a tail

	maxCount  = idMask + 1
	maxCells  = baseMask + 1
	maxToken  = 255 // bytes; the length fields have 8 bits
	maxBlob   = 1 << 24
	sizeShift = 8 // in the index
)

// Vocabulary is a read-only view of one table. It holds no copy: the table must not change while the view is used. Safe
// for concurrent use.
type Vocabulary struct {
	// head points at the table's first byte. Places inside are computed where they are used: TinyGo's collector walks
	// from a pointer into the middle of a block to its beginning, 16 bytes at a time.
	head               unsafe.Pointer
	root, cells        uint32
	count, maxLen      uint32
	tailSize, blobSize uint32
	// Where the parts of the table begin.
	index, tails, blob uint32
}

// Open checks the header of table, its version and its lengths, and that the trie stays inside, and returns a view of
// it. A table that was damaged inside gives wrong answers or none, never a panic.
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

// inside says that every child of the node base is a cell.
func (v *Vocabulary) inside(base uint32) bool { return base+255 < v.cells }

// cellAt is the cell at i. There is no check: Open has looked at all bases.
func (v *Vocabulary) cellAt(i uint32) uint64 {
	return *(*uint64)(unsafe.Add(v.head, headerSize+8*uintptr(i)))
}

// load32 reads at a place that the caller has checked.
func (v *Vocabulary) load32(at uint32) uint32 { return *(*uint32)(unsafe.Add(v.head, at)) }
