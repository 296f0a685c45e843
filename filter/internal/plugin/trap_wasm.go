//go:build wasm

package plugin

// trap ends the VM. The host notes that it has failed, and reloads it where its policy is FAIL_RELOAD.
//
//export llvm.trap
func trap()
