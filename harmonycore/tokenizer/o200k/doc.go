// Package o200k holds the o200k vocabulary of the gpt-oss models as one packed file, and makes the lookup table of
// package bpe from it. Programs use [Tokenizer].
//
// It knows the file of the vocabulary. It does not know how a vocabulary is used. Only native programs import it: the
// wasm filter gets the bytes of [Table] from a data segment.
//
// tools/vocab makes the file from o200k_base.tiktoken. The file contains the SHA-256 of its source ([Source]) and of
// its unpacked content.
//
// The package's API is stable: docs/library.md lists what stays compatible.
package o200k
