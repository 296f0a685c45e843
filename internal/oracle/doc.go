// Package oracle holds the core against what the reference implementation did: the vectors in testdata, and the streams
// and conversations of tools/differential.
//
// It knows the core and the lines of package vectors, not where the lines come from.
package oracle
