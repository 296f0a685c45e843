// Package bpe turns the bytes of one pre-token into token ids by byte-pair encoding, with a vocabulary that is one flat
// table without pointers.
//
// It knows bytes and ranks. It must not know what text is, where a text is split, or that some ids are control tokens.
//
// A token's id is its rank: the lower, the earlier it merges. The table is used where it lies (its format is in
// table.go). So a garbage collector has nothing to scan, and a wasm host can copy it from a data segment.
package bpe
