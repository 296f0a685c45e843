// Package golden compares what a test has found with a golden file. A file that mostly repeats another is stored as its
// differences to the other: a reviewer reads only these.
//
// It knows lines and how far they are indented. It does not know what is in them.
package golden
