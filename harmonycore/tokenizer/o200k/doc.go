// Package o200k holds the o200k vocabulary of the gpt-oss models as one packed
// file, and makes the lookup table of package bpe from it.
//
// It knows the file of the vocabulary; it must not know how a vocabulary is
// used. It is native only: the wasm filter gets the bytes of Table from a data
// segment, and never imports this package.
//
// The file is made by tools/vocab from o200k_base.tiktoken. It records the
// SHA-256 of that file (Source) and of what it must unpack to.
package o200k
