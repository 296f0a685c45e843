// Package gbnf writes what an answer is held to as a grammar of llama.cpp, with control tokens as tokens: JSON schemas,
// regular expressions and grammars in EBNF become rules.
//
// It knows neither requests nor servers.
package gbnf
