// Package inspect answers JSON lines with JSON lines: tokenizing, rendering and parsing as the core does it, for
// scripts and for comparing with other implementations. [Run] answers a stream of lines in one [Mode]. docs/inspect.md
// shows the lines.
//
// It knows the form of the lines, not files, flags or what a person would like to see.
//
// The package is promised: docs/library.md says what stays compatible.
package inspect
