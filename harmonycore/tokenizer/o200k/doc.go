// Package o200k holds the o200k vocabulary of the gpt-oss models as one packed file, and makes the lookup table of
// package bpe from it. [Tokenizer] is what programs use.
//
// It knows the file of the vocabulary, not how a vocabulary is used. It is native only: the wasm filter gets the bytes
// of [Table] from a data segment, and never imports this package.
//
// tools/vocab makes the file from o200k_base.tiktoken. It records the SHA-256 of that file ([Source]) and of what it
// must unpack to.
//
// The package is promised: docs/library.md says what stays compatible.
package o200k
