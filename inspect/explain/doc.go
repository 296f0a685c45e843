// Package explain prints a stream of tokens as a transcript for people: messages, token ids, and where which repair was
// made.
//
// It knows the layout of terminal lines. It does not know where the stream comes from or whether the output is a
// terminal.
package explain
