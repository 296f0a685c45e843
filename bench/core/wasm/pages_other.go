//go:build !wasm

package main

// pages is a stub: the figure exists only in the built module.
func pages(int32) int32 { return 0 }
