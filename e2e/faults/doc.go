// Package faults tests what clients see when servers fail, streams are cut, or the filter has no valid configuration.
//
// It knows the faults of the simulated server and docs/faults.md, not the programs of real clients.
package faults
