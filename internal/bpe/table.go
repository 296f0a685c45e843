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
//	cells    u32 each: a trie of the tokens' bytes as a double array
//	ids      u16 per cell: the low bits of the id
//	begins   u16 per id: the low bits of the offset of its bytes
//	sizes    u8 per id: the high bits of that offset << 4 | the number of its bytes, 0 from longToken on
//	bytes    of the tokens; what is part of a longer token is there only once, unless it is long itself. Before the
//	         bytes of a long token is their number
//	padding  to minSize
//
// A node of the trie is a base. The cell of its child under byte b is base+b, if that cell has the label b. No two
// nodes share a base, so the label identifies the parent of a cell. An unused cell has a label under which no node
// looks for it. Base 0 belongs to no node: nothing continues from there. A branch with a single token is one cell with
// that token's id.
//
// The reason for this layout is the cost of memory outside the second-level cache (on the machine used for tuning, 7 ns
// within 512 KB and 160 ns in 4 MB). The nodes of low ids, which make up two thirds to nine tenths of all text, lie
// together at the beginning. One walk finds a word. While merging, a pair is looked up by continuing from the left
// part's node, and most pairs that are not tokens end at the first byte.
const (
	magic   = "HBPE"
	version = 5

	headerSize = atFewest + 4*256
	atVersion  = 4
	atCount    = 8  // number of ids
	atMaxLen   = 12 // length of the longest token, in bytes
	atCells    = 16 // number of cells
	atBytes    = 20 // number of the tokens' bytes
	atRoot     = 24 // base of the root
	atFewest   = 64 // the bounds of [Fewest]

	// The fields of a cell: base, the high bits of the id, flags, label.
	baseMask   = 1<<19 - 1
	idShift    = 19
	idMask     = 3
	wholeFlag  = 1 << 22 // a token ends here
	tailFlag   = 1 << 23 // one token continues from here
	labelShift = 24

	maxCells = baseMask + 1
	maxCount = (idMask + 1) << 16
	maxToken = 255     // bytes; the length field has 8 bits
	maxText  = 1 << 24 // bytes of all tokens
	maxBlob  = 1 << 20 // those of them that are in the table

	// The fields of a size.
	sizeMask  = 15
	highShift = 4
	longToken = sizeMask + 1

	cellSize, idSize, beginSize = 4, 2, 2
	// minSize is the least size of a table. With every base that a cell may hold, its children's cells and ids lie inside.
	minSize = headerSize + (cellSize+idSize)*(maxCells+256)
)

// Vocabulary is a read-only view of one table. It does not copy the table, which must not change while the view is
// used. It is safe for concurrent use.
type Vocabulary struct {
	// head points to the first byte of the table. Addresses inside are computed where they are used, because for a pointer
	// into the middle of a block TinyGo's collector walks back to the block's beginning, 16 bytes at a time.
	head          unsafe.Pointer
	root, cells   uint32
	count, maxLen uint32
	blobSize      uint32

	ids, begins, sizes, blob uint32 // where these parts of the table begin
}

// Open checks the header of table, its version and its lengths, and returns a view of it. A table damaged inside gives
// wrong answers or none, never a panic.
func Open(table []byte) (*Vocabulary, error) {
	if len(table) < minSize || string(table[:len(magic)]) != magic {
		return nil, ErrTable
	}
	v := &Vocabulary{head: unsafe.Pointer(unsafe.SliceData(table))}
	v.count, v.maxLen = v.load32(atCount), v.load32(atMaxLen)
	v.cells, v.root = v.load32(atCells), v.load32(atRoot)
	v.blobSize = v.load32(atBytes)
	if v.load32(atVersion) != version || v.count == 0 || v.count > maxCount || v.maxLen == 0 || v.maxLen > maxToken ||
		v.cells > maxCells || v.root >= maxCells || v.blobSize > maxBlob {
		return nil, ErrTable
	}
	v.ids = headerSize + cellSize*v.cells
	v.begins = v.ids + idSize*v.cells
	v.sizes = v.begins + beginSize*v.count
	v.blob = v.sizes + v.count
	if uint64(len(table)) != uint64(max(v.blob+v.blobSize, minSize)) {
		return nil, ErrTable
	}
	for b := range 256 {
		if _, ok := v.Lookup(string([]byte{byte(b)})); !ok {
			return nil, ErrTable // some input could not be encoded
		}
	}
	return v, nil
}

// cellAt returns the cell at i, which is at most maxCells+255. It needs no check, because of minSize.
func (v *Vocabulary) cellAt(i uint32) uint32 { return v.load32(headerSize + cellSize*i) }

// load32 reads four bytes at an offset that the caller has checked.
func (v *Vocabulary) load32(at uint32) uint32 { return *(*uint32)(unsafe.Add(v.head, at)) }

// load16 reads two bytes, and load8 one.
func (v *Vocabulary) load16(at uint32) uint32 { return uint32(*(*uint16)(unsafe.Add(v.head, at))) }
func (v *Vocabulary) load8(at uint32) uint32  { return uint32(*(*uint8)(unsafe.Add(v.head, at))) }
