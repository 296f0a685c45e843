package bpe

import (
	"bytes"
	"encoding/binary"
)

// Build makes the table of a vocabulary. Token i is blob[ends[i-1]:ends[i]], where the first begins at 0; sorted has
// the ids in the order of the tokens' bytes. The same tokens always give the same table.
//
// Build returns [ErrTable] if the tokens do not fit the format: none or more than 262,144 tokens, an empty token or one
// longer than 255 bytes, two equal tokens, a wrong order, a byte without its own token, or more than 1 MiB of bytes where
// what is part of another token counts once.
func Build(blob []byte, ends, sorted []uint32) ([]byte, error) {
	b := builder{blob: blob, ends: ends, sorted: sorted}
	if !b.check() || !b.plant() {
		return nil, ErrTable
	}
	table := b.table()
	if _, err := Open(table); err != nil { // Open also checks that every byte has its token
		return nil, err
	}
	return table, nil
}

type builder struct {
	blob         []byte
	ends, sorted []uint32
	longest      uint32

	// The tokens in sorted order: their bytes, where each begins, and how many bytes it shares with the one before.
	text   []byte
	starts []uint32
	shared []uint8

	root  uint32
	array array
}

func (b *builder) token(id uint32) []byte {
	from := uint32(0)
	if id > 0 {
		from = b.ends[id-1]
	}
	return b.blob[from:b.ends[id]]
}

// check validates the input of [Build] and fills the fields in sorted order.
func (b *builder) check() bool {
	count := len(b.ends)
	if count == 0 || count > maxCount || len(b.sorted) != count || len(b.blob) > maxText ||
		uint64(b.ends[count-1]) != uint64(len(b.blob)) {
		return false
	}
	from := uint32(0)
	for _, to := range b.ends {
		if to <= from || to-from > maxToken || uint64(to) > uint64(len(b.blob)) {
			return false
		}
		b.longest = max(b.longest, to-from)
		from = to
	}
	b.text, b.starts, b.shared = make([]byte, 0, len(b.blob)), make([]uint32, 1, count+1), make([]uint8, count)
	var last []byte
	for i, id := range b.sorted {
		if id >= uint32(count) {
			return false
		}
		token := b.token(id)
		n := 0
		for n < len(last) && n < len(token) && last[n] == token[n] {
			n++
		}
		if i > 0 && bytes.Compare(last[n:], token[n:]) >= 0 {
			return false
		}
		b.shared[i] = uint8(n)
		last = token
		if len(b.text)+len(token) > len(b.blob) {
			return false // an id occurs twice
		}
		b.text = append(b.text, token...)
		b.starts = append(b.starts, uint32(len(b.text)))
	}
	return true
}

// table returns the table with all its parts.
func (b *builder) table() []byte {
	blob, begins := b.pack()
	cells, count := len(b.array.cells), len(b.ends)
	size := max(headerSize+(cellSize+idSize)*cells+(beginSize+1)*count+len(blob), minSize)
	table := make([]byte, headerSize, size)
	copy(table, magic)
	for at, x := range map[int]uint32{
		atVersion: version, atCount: uint32(count), atMaxLen: b.longest, atCells: uint32(cells),
		atBytes: uint32(len(blob)), atRoot: b.root,
	} {
		binary.NativeEndian.AppendUint32(table[:at], x)
	}
	for i, x := range b.fewest() {
		binary.NativeEndian.AppendUint32(table[:atFewest+4*i], x)
	}
	for _, cell := range b.array.cells {
		table = binary.NativeEndian.AppendUint32(table, cell)
	}
	for _, id := range b.array.ids {
		table = binary.NativeEndian.AppendUint16(table, id)
	}
	for _, begin := range begins {
		table = binary.NativeEndian.AppendUint16(table, uint16(begin))
	}
	for id, begin := range begins {
		size := len(b.token(uint32(id)))
		if size >= longToken {
			size = 0
		}
		table = append(table, uint8(begin>>16<<highShift)|uint8(size))
	}
	return append(table, blob...)[:size]
}
