// Package explain prints a stream of tokens as a transcript for people: messages, ids, and what had to be repaired
// where.
//
// It knows how a terminal's line looks, not where the stream comes from or whether there is a terminal at all.
package explain
