package o200k

import (
	_ "embed"
	"sync"

	"github.com/harmonyedge/harmonyedge/harmonycore/tokenizer"
	"github.com/harmonyedge/harmonyedge/internal/bpe"
)

// Source is the SHA-256 of the o200k_base.tiktoken that was packed, the one that the reference implementation asks for
// (docs/harmony-format.md#the-vocabularys-file).
const Source = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

//go:embed o200k.vocab
var packed []byte

var load = sync.OnceValues(func() ([]byte, *tokenizer.Tokenizer) {
	blob, ends, sorted, err := unpack(packed)
	if err != nil {
		panic(err) // the file in this binary is damaged: nothing could work
	}
	table, err := bpe.Build(blob, ends, sorted)
	if err != nil {
		panic(err)
	}
	v, err := bpe.Open(table)
	if err != nil {
		panic(err)
	}
	return table, tokenizer.New(v)
})

// Table returns the lookup table of package bpe, about 4.7 MB, made at first
// use (some 0.15 seconds); the same bytes in every build. Callers share it and
// must not write to it.
func Table() []byte {
	table, _ := load()
	return table
}

// Tokenizer returns the tokenizer over Table that the process shares.
func Tokenizer() *tokenizer.Tokenizer {
	_, t := load()
	return t
}
