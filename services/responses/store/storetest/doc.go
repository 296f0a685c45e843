// Package storetest has the tests that a store passes on each of its databases.
//
// It knows what a store promises. It does not know which database it is.
package storetest
