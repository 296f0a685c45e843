package bpe

import "errors"

// ErrTable is what Open returns for bytes that are not a table of this
// version, and Build for tokens that no table can hold.
var ErrTable = errors.New("bpe: not a vocabulary table of this version")

// The table, all numbers little-endian:
//
//	header   headerSize bytes, fields below
//	singles  256 × u32: id+1 of each one-byte token (every one exists)
//	pairs    65,536 × u32: id+1 of the two-byte token b0<<8|b1, 0 if none
//	index    u32 per indexStep ids: where the first one's record lies
//	slots    u32 each: fingerprint<<offsetBits | record's place; 0 is empty
//	records  by id: u32 id | length<<24, then the bytes, nothing between
//	padding  tailSize zero bytes, so that eight bytes can be read anywhere
//
// Places are byte offsets in the whole table. A slot leads straight to the
// record, and the record to the id, so a lookup that hits costs two cache
// lines; decoding walks at most indexStep-1 records.
const (
	magic   = "HBPE"
	version = 1

	headerSize = 64
	atVersion  = 4
	atCount    = 8
	atSlots    = 12 // number of slots
	atMaxLen   = 16 // length of the longest token, in bytes
	atIndex    = 20
	atSlotBase = 24
	atRecords  = 28
	atEnd      = 32 // end of the records

	singlesBase = headerSize
	pairsBase   = singlesBase + 256*4
	pairsEnd    = pairsBase + 65536*4

	indexStep  = 8
	tailSize   = 8
	offsetBits = 22
	maxTable   = 1 << offsetBits // a record must begin below this
	maxCount   = 1 << 18         // ids must fit 18 bits
	maxToken   = 255             // bytes; the length field has 8 bits
	recordHead = 4
)

// Vocabulary is a read-only view of one table. It holds no copy: the table
// must not change while the view is used. Safe for concurrent use.
type Vocabulary struct {
	table   []byte
	count   uint32
	slots   uint32
	maxLen  uint32
	index   uint32
	slotAt  uint32
	records uint32
	end     uint32
}

// Open checks the header of table, its version and its lengths, and returns a
// view of it. It does not read the records: a table that was damaged inside
// gives wrong answers or none, never a panic.
func Open(table []byte) (*Vocabulary, error) {
	if len(table) < pairsEnd+tailSize || len(table) > 1<<30 || string(table[:len(magic)]) != magic {
		return nil, ErrTable
	}
	v := &Vocabulary{
		table:   table,
		count:   u32(table, atCount),
		slots:   u32(table, atSlots),
		maxLen:  u32(table, atMaxLen),
		index:   u32(table, atIndex),
		slotAt:  u32(table, atSlotBase),
		records: u32(table, atRecords),
		end:     u32(table, atEnd),
	}
	if u32(table, atVersion) != version || v.count == 0 || v.count > maxCount ||
		v.slots <= v.count || v.slots > 4*maxCount || v.maxLen == 0 || v.maxLen > maxToken {
		return nil, ErrTable
	}
	if v.index != pairsEnd ||
		v.slotAt != v.index+(v.count+indexStep-1)/indexStep*4 ||
		v.records != v.slotAt+v.slots*4 ||
		v.end <= v.records || uint64(v.end)+tailSize != uint64(len(table)) {
		return nil, ErrTable
	}
	for b := uint32(0); b < 256; b++ {
		if id := u32(table, singlesBase+4*b); id == 0 || id > v.count {
			return nil, ErrTable // some input could not be encoded
		}
	}
	return v, nil
}

// u32 reads four bytes at a place; outside the table it reads 0.
func u32(t []byte, at uint32) uint32 {
	if uint64(at)+4 > uint64(len(t)) {
		return 0
	}
	b := t[at : at+4 : at+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// load32 and load64 read at the start of b; the caller has checked its length.
func load32(b []byte) uint32 {
	_ = b[3]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func load64(b []byte) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}
