//go:build wasm

package plugin

import (
	"errors"
	"unsafe"
)

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(to unsafe.Pointer, size uint32) uint32

// random fills b with random bytes. crypto/rand would keep a supply of them in the module's static data, and the
// collector would take some of them for pointers.
func random(b []byte) error {
	if len(b) > 0 && randomGet(unsafe.Pointer(&b[0]), uint32(len(b))) != 0 {
		return errors.New("the host has no random numbers")
	}
	return nil
}
