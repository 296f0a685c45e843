// Package bpe turns the bytes of one pre-token into token ids by byte-pair encoding, over a vocabulary that is one
// flat, pointer-free table.
//
// It knows bytes and ranks; it must not know what text is, where a text is split, or that some ids are control tokens.
//
// A token's id is its rank: the lower, the earlier it merges. The table is laid out to be used where it lies (format in
// table.go), so that a garbage collector has nothing to look at and a wasm host can copy it from a data segment.
package bpe
