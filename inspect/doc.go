// Package inspect tokenizes, renders and parses as the core does: [Run] answers each JSON line of a stream with a JSON
// line, in one [Mode]. It is meant for scripts and for comparison with other implementations. docs/inspect.md describes
// the lines.
//
// It knows the format of the lines. It does not know files, flags or how to present results to people.
//
// The package's API is stable: docs/library.md lists what stays compatible.
package inspect
