// Package vectors reads recorded results of the reference implementation for conversations and token streams, in the
// format of docs/vectors.md.
//
// It knows the format of the lines. It does not know the code that is compared with them.
package vectors
