//go:build wasm

package vocabulary

import "unsafe"

// The vocabulary is a passive data segment of a second module that is merged into this one. As a Go variable, every
// garbage collection would scan it word by word (RATIONALE.md#8).

//go:wasmimport harmony_vocab size
func vocabularySize() uint32

//go:wasmimport harmony_vocab copy
func copyVocabulary(to unsafe.Pointer)

// Table copies the table into one heap slice without pointers.
func Table() []byte {
	table := make([]byte, vocabularySize())
	if len(table) > 0 {
		copyVocabulary(unsafe.Pointer(&table[0]))
	}
	return table
}
