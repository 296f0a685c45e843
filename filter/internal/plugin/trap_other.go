//go:build !wasm

package plugin

func trap() { panic("the VM ends itself") }
