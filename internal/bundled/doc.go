// Package bundled has the filter that a released program carries, and writes it to a file for hosts that read files
// (RATIONALE.md#112).
//
// It knows bytes and files. It does not know what the filter does, nor who runs it.
package bundled
