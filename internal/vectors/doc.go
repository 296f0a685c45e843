// Package vectors reads what the reference implementation did with conversations and token streams, in the lines of
// docs/vectors.md.
//
// It knows the lines, not the code that is held against them.
package vectors
