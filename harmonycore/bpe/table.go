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
//	hot      hotBuckets × u64, for the ids below hotIDs
//	cold     coldBuckets × u64, for the others
//	index    u32 per id: where its record lies
//	records  u32 id | last<<18 | mark<<19 | length<<24, then the bytes
//	padding  tailSize zero bytes
//
// Places are byte offsets in the whole table. A bucket is a run of records;
// its u64 is the place of the first one (0 if none) and, above that, a filter
// of the tokens in it. last is 1 on the last record of a bucket; mark is a few
// more bits of the hash. One- and two-byte tokens are in no bucket.
//
// Why so: what costs is memory beyond the second-level cache (on the machine
// this was tuned on 6 ns within 1 MB, 130 ns in 4 MB). Two thirds to nine
// tenths of all tokens have low ids; those lie close together. A look-up that
// fails, the commonest kind while merging, nearly always ends at the filters,
// 384 KiB in all. One that hits costs one line of a filter and one of records.
const (
	magic   = "HBPE"
	version = 1

	headerSize = 64
	atVersion  = 4
	atCount    = 8
	atMaxLen   = 12 // length of the longest token, in bytes
	atRecords  = 16
	atEnd      = 20 // end of the records

	singlesBase = headerSize
	pairsBase   = singlesBase + 256*4
	hotBase     = pairsBase + 65536*4
	coldBase    = hotBase + hotBuckets*8
	indexBase   = coldBase + coldBuckets*8

	hotIDs      = 1 << 15
	hotBits     = 14
	coldBits    = 15
	hotBuckets  = 1 << hotBits
	coldBuckets = 1 << coldBits

	placeBits  = 22
	filterBits = 64 - placeBits
	maxTable   = 1 << placeBits // a record must begin below this

	idBits     = 18
	maxCount   = 1 << idBits
	lastFlag   = 1 << idBits
	markShift  = idBits + 1
	markMask   = 1<<(24-markShift) - 1
	maxToken   = 255 // bytes; the length field has 8 bits
	recordHead = 4
	tailSize   = 8
)

// Vocabulary is a read-only view of one table. It holds no copy: the table
// must not change while the view is used. Safe for concurrent use.
type Vocabulary struct {
	table  []byte
	count  uint32
	maxLen uint32
	end    uint32 // of the records
}

// Open checks the header of table, its version and its lengths, and returns a
// view of it. It does not read the records: a table that was damaged inside
// gives wrong answers or none, never a panic.
func Open(table []byte) (*Vocabulary, error) {
	if len(table) < indexBase+tailSize || len(table) > maxTable+1<<16 || string(table[:len(magic)]) != magic {
		return nil, ErrTable
	}
	v := &Vocabulary{
		table:  table,
		count:  u32(table, atCount),
		maxLen: u32(table, atMaxLen),
		end:    u32(table, atEnd),
	}
	if u32(table, atVersion) != version || v.count == 0 || v.count > maxCount ||
		v.maxLen == 0 || v.maxLen > maxToken {
		return nil, ErrTable
	}
	records := u32(table, atRecords)
	if records != indexBase+4*v.count || v.end <= records || uint64(v.end)+tailSize != uint64(len(table)) {
		return nil, ErrTable
	}
	for b := uint32(0); b < 256; b++ {
		if id := u32(table, singlesBase+4*b); id == 0 || id > v.count {
			return nil, ErrTable // some input could not be encoded
		}
	}
	return v, nil
}

// u32 and u64 read at a place; outside the table they read 0.
func u32(t []byte, at uint32) uint32 {
	if uint64(at)+4 > uint64(len(t)) {
		return 0
	}
	return load32(t[at:])
}

func u64(t []byte, at uint32) uint64 {
	if uint64(at)+8 > uint64(len(t)) {
		return 0
	}
	return load64(t[at:])
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
