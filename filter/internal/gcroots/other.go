//go:build !wasm

package gcroots

// SkipConstants does nothing: Go's own collector knows which words are pointers.
func SkipConstants() {}
