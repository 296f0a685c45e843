package wasmhost

import "slices"

// The buffer types of the ABI.
const (
	bufferRequestBody         = 0
	bufferResponseBody        = 1
	bufferCallResponseBody    = 4
	bufferVMConfiguration     = 6
	bufferPluginConfiguration = 7
)

// content returns what the filter may read of a buffer now. The second result reports whether the buffer exists at this
// moment.
func (v *vm) content(kind uint32) ([]byte, bool) {
	switch kind {
	case bufferRequestBody, bufferResponseBody:
		if v.active == nil {
			return nil, false
		}
		if b := v.active.body(kind); b != nil {
			return *b, true
		}
		return nil, false
	case bufferCallResponseBody:
		if v.callout == nil {
			return nil, false
		}
		return v.callout.Body, true
	}
	p, ok := v.buffers[kind]
	return p, ok
}

func getBuffer(v *vm, a []uint64) Status {
	kind := uint32(a[0])
	if kind > bufferPluginConfiguration {
		return StatusBadArgument
	}
	// A missing buffer reads as an empty one, and a range beyond the end is not an error.
	p, _ := v.content(kind)
	start := min(a[1], uint64(len(p)))
	size := min(a[2], uint64(len(p))-start)
	if size == 0 {
		return StatusOK
	}
	return v.writeNew(p[start:start+size], a[3], a[4])
}

func getBufferStatus(v *vm, a []uint64) Status {
	p, ok := v.content(uint32(a[0]))
	if !ok {
		return StatusNotFound
	}
	if s := v.writeUint32(uint32(len(p)), a[1]); s != StatusOK {
		return s
	}
	return v.writeUint32(0, a[2])
}

// setBuffer makes the edits that Envoy allows: insert before the data, append after it, and replace its beginning or
// all of it.
func setBuffer(v *vm, a []uint64) Status {
	data, ok := v.read(a[3], a[4])
	if !ok {
		return StatusInvalidMemoryAccess
	}
	kind := uint32(a[0])
	if kind != bufferRequestBody && kind != bufferResponseBody {
		if _, ok := v.content(kind); ok {
			return StatusBadArgument // the buffer is read-only
		}
		return StatusNotFound
	}
	var b *[]byte
	if v.active != nil {
		b = v.active.body(kind)
	}
	if b == nil {
		return StatusBadArgument
	}
	start, size := a[1], min(a[2], uint64(len(*b)))
	switch {
	case start == 0:
		*b = slices.Concat(data, (*b)[size:])
	case start >= uint64(len(*b)):
		*b = append(*b, data...)
	default:
		return StatusBadArgument
	}
	if kind == bufferResponseBody {
		v.active.response.edited()
	}
	return StatusOK
}
