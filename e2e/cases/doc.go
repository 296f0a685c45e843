// Package cases reads the cases of the behaviour suite, which are the files in this folder, and runs one at a time.
//
// It knows what a case sends and wants. It does not know which hosts run it, nor the schemas that its answer follows.
package cases
