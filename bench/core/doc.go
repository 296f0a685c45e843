// Command core measures harmonycore beside its peers, taking turns within one run (docs/bench-core.md).
//
// It knows how to make texts, start workers and compare their results. It must not know how any of them encodes.
package main
