//go:build wasm

package main

// pages is the size of the VM's memory, in pages of 64 KiB; the compiler makes it one instruction.
//
//export llvm.wasm.memory.size.i32
func pages(memory int32) int32
