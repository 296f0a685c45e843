package o200k

import (
	_ "embed"
	"sync"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/bpe"
)

// Source is the SHA-256 of the o200k_base.tiktoken that was packed. The reference implementation requires the same file
// (docs/harmony-format.md#the-vocabularys-file).
const Source = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

//go:embed o200k.vocab
var packed []byte

var load = sync.OnceValues(func() ([]byte, *tokenizer.Tokenizer) {
	blob, ends, sorted := mustUnpack()
	table, err := bpe.Build(blob, ends, sorted)
	if err != nil {
		panic(err)
	}
	t, err := tokenizer.New(table)
	if err != nil {
		panic(err)
	}
	return table, t
})

func mustUnpack() (blob []byte, ends, sorted []uint32) {
	blob, ends, sorted, err := unpack(packed)
	if err != nil {
		panic(err) // the file in this binary is damaged, so nothing can work
	}
	return blob, ends, sorted
}

// unpacked are the bytes of all tokens, and where each one ends.
var unpacked = sync.OnceValues(func() (blob []byte, ends []uint32) {
	blob, ends, _ = mustUnpack()
	return blob, ends
})

// Text returns the bytes of ids, with control tokens spelled out, as [tokenizer.Tokenizer.AppendDecode] does. ok is
// false if an id is unknown. Text needs no [Table]: the first call takes a tenth of the time of the first call of Table.
func Text(ids []uint32) (text string, ok bool) {
	blob, ends := unpacked()
	var b []byte
	for _, id := range ids {
		if name, special := tokenizer.SpecialName(id); special {
			b = append(b, name...)
			continue
		}
		if id >= uint32(len(ends)) {
			return "", false
		}
		from := uint32(0)
		if id > 0 {
			from = ends[id-1]
		}
		b = append(b, blob[from:ends[id]]...)
	}
	return string(b), true
}

// Table returns the lookup table for [tokenizer.New], about 3.1 MB. The first call makes it, in some 0.15 seconds. It
// has the same bytes in every build. Callers share it and must not write to it.
func Table() []byte {
	table, _ := load()
	return table
}

// Tokenizer returns the process's shared tokenizer over [Table].
func Tokenizer() *tokenizer.Tokenizer {
	_, t := load()
	return t
}
