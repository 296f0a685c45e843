//go:build wasm

package plugin

import (
	"bytes"
	"unsafe"
)

//go:wasmimport wasi_snapshot_preview1 environ_sizes_get
func environSizes(count, size unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 environ_get
func environGet(pointers, text unsafe.Pointer) uint32

// environment returns the value of a variable that the host shows to the module, or "". The C library's own function
// would link the library's allocator, and the module has room for only one.
func environment(name string) string {
	var count, size uint32
	if environSizes(unsafe.Pointer(&count), unsafe.Pointer(&size)) != 0 || count == 0 || size == 0 {
		return ""
	}
	pointers, text := make([]uint32, count), make([]byte, size)
	if environGet(unsafe.Pointer(&pointers[0]), unsafe.Pointer(&text[0])) != 0 {
		return ""
	}
	// NAME=VALUE, each followed by a zero.
	for entry := range bytes.SplitSeq(text, []byte{0}) {
		if key, value, ok := bytes.Cut(entry, []byte{'='}); ok && string(key) == name {
			return string(value)
		}
	}
	return ""
}
