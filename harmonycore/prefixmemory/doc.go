// Package prefixmemory remembers what the beginnings of bodies were turned into, so that a body that begins as an
// earlier one need not be turned into it again. It finds them by a keyed hash, within a fixed amount of memory.
//
// It does not know what a body is, nor what the numbers are that are kept with its parts.
package prefixmemory
