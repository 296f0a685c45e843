// Package harmonytest compares the core with recorded results of the reference implementation: the vectors in testdata,
// and the streams and conversations of tools/differential.
//
// It knows the core and the lines of the package vectors. It does not know where the lines come from.
package harmonytest
