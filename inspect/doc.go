// Package inspect answers JSON lines with JSON lines: tokenizing, rendering and parsing as the core does it, for scripts
// and for comparing with other implementations.
//
// It knows the form of the lines, not files, flags or what a person would like to see.
package inspect
