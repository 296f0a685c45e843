//go:build !wasm

package plugin

// closeStream exists only in a wasm host.
func closeStream() {}
