//go:build wasm

package plugin

// trap ends the VM. The host notes the failure, and reloads the VM if its policy is FAIL_RELOAD.
//
//export llvm.trap
func trap()
