// Package lark turns a grammar in Lark's language into a grammar in the EBNF that inference servers enforce: xgrammar's,
// which is also llama.cpp's GBNF.
//
// It knows Lark's language and the EBNF. It does not know what the texts are for, nor which server reads the EBNF.
package lark
