//go:build !wasm

package vocabulary

// Table returns nil: only a built module has a table.
func Table() []byte { return nil }
