// Package golden compares what a test has found with a golden file. A file that mostly repeats another is stored as its
// differences to the other: a reviewer reads only these.
//
// It knows lines, how far they are indented, and where an object of Kubernetes begins. It knows nothing of their meaning.
package golden
