// Package ours does one unit of work of the benchmark with harmonycore, the same natively and in a wasm module.
//
// It knows the core's public API; it must not know clocks, files or who asks.
package ours
