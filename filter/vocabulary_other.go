//go:build !wasm

package main

// vocabulary exists only in the built module.
func vocabulary() []byte { return nil }
