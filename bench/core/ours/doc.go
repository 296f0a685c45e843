// Package ours does one unit of the benchmark's work with harmonycore, natively and in a wasm module alike.
//
// It knows the core's public API. It must not know clocks, files or its caller.
package ours
