// Package vocabulary is the lookup table in a built module, for package main of every module that tools/build-filter.sh
// makes.
//
// It knows where the table lies, not what is in it.
package vocabulary
