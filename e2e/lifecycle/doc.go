// Package lifecycle tests what becomes of a running program when the operator's file changes: what starts, what changes,
// what goes, and what waits for the next start.
//
// It knows the operator's file and what clients see. It does not know which part of the program reads which setting.
package lifecycle
