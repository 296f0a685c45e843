// Package line has the lines of a record: JSON objects, each with a type, that say what happened to one request and
// when. docs/inspect.md describes them.
//
// It does not know where the lines come from or where they are kept.
package line
