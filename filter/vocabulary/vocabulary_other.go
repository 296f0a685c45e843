//go:build !wasm

package vocabulary

// Table exists only in a built module.
func Table() []byte { return nil }
