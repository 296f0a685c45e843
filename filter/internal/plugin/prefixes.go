package plugin

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"

	"github.com/harmonyedge/harmonyedge/harmonycore/prefixmemory"
)

// remember returns the VM's memory of prefixes for a configuration that allows so many bytes for it, or nil. All
// configurations of a VM share one memory. It has the size that the last of them allows.
func (v *vm) remember(limit int) *prefixmemory.Memory {
	if limit <= 0 {
		v.forget()
		return nil
	}
	if v.prefixes != nil {
		v.prefixes.SetLimit(limit)
		return v.prefixes
	}
	var key [prefixmemory.KeySize]byte
	if err := random(key[:]); err != nil {
		proxywasm.LogWarn("harmony: no prefixes are remembered: " + err.Error())
		return nil
	}
	v.prefixes = prefixmemory.New(limit, &key)
	return v.prefixes
}

// forget makes room in a full heap: the memory of prefixes gives way to requests. It returns how many bytes the next
// collection frees.
func (v *vm) forget() uint64 {
	if v.prefixes == nil {
		return 0
	}
	freed := v.prefixes.Bytes()
	v.prefixes.Clear()
	return uint64(freed)
}
