// Command corebench measures harmonycore beside its peers, in one run and in turns (docs/bench-core.md).
//
// It knows how to make texts, start workers, and compare what they say; it must not know how any of them encodes.
package main
