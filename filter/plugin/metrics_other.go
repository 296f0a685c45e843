//go:build !wasm

package plugin

// Metrics exist only in a wasm host.
func defineCounter(string) metric { return 0 }

func (metric) add() {}
