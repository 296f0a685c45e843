// Package up tests harmony up, with Envoy and without, and the examples of README.md and examples/.
//
// It knows the program's flags, output and exit status, not the translation.
package up
