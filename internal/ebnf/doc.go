// Package ebnf reads grammars in the EBNF of xgrammar and llama.cpp, and says which texts they allow. It is for tests and
// for simulated servers. It follows every way at once and keeps what it has seen, so it is slow.
//
// It knows no structural tag and no vocabulary.
package ebnf
