package plugin

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"

	"github.com/harmonyedge/harmonyedge/harmonycore/prefixmemory"
	"github.com/harmonyedge/harmonyedge/harmonycore/segments"
)

// remember returns the VM's memory of prefixes for a configuration that allows so many bytes for it, or nil. All
// configurations of a VM share one memory. It has the size that the last of them allows.
func (v *vm) remember(limit int) *prefixmemory.Memory {
	if limit <= 0 {
		if v.prefixes != nil {
			v.prefixes.Clear()
		}
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

// outlines returns the VM's memory of prompts' outlines for a configuration that allows so many bytes for it, or nil. It
// is shared as that of prefixes.
func (v *vm) outlines(limit int) *segments.Memory {
	if limit <= 0 {
		v.turns = nil
		return nil
	}
	if v.turns == nil {
		v.turns = segments.NewMemory(limit)
	}
	v.turns.SetLimit(limit)
	return v.turns
}

// forget makes room in a full heap: what is remembered gives way to requests. It returns how many bytes the next
// collection frees.
func (v *vm) forget() uint64 {
	freed := 0
	if v.prefixes != nil {
		freed = v.prefixes.Bytes()
		v.prefixes.Clear()
	}
	if v.turns != nil {
		freed += v.turns.Bytes()
		v.turns.Clear()
	}
	return uint64(freed)
}
