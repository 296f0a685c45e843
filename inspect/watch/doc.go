// Package watch prints requests for people while they run: a line for each at its end, and what the model writes.
//
// It knows the lines of records. It does not know how requests are recorded or whether the output is a terminal.
package watch
