package wasmhost

import "encoding/binary"

// Status is the result of a host call in proxy-wasm.
type Status uint32

// The statuses of proxy-wasm 0.2.
const (
	StatusOK                  Status = 0
	StatusNotFound            Status = 1
	StatusBadArgument         Status = 2
	StatusSerializationFailed Status = 3
	StatusInvalidMemoryAccess Status = 6
	StatusEmpty               Status = 7
	StatusCASMismatch         Status = 8
	StatusInternalFailure     Status = 10
	StatusUnimplemented       Status = 12
)

// read copies bytes out of the module's memory.
func (v *vm) read(at, size uint64) ([]byte, bool) {
	p, ok := v.memory.Read(uint32(at), uint32(size))
	if !ok {
		return nil, false
	}
	return append([]byte(nil), p...), true
}

func (v *vm) readString(at, size uint64) (string, bool) {
	p, ok := v.memory.Read(uint32(at), uint32(size))
	return string(p), ok
}

// writeNew copies bytes into memory that it allocates in the module. It writes their address to place and their length
// to size.
func (v *vm) writeNew(p []byte, place, size uint64) Status {
	at := uint32(0)
	if len(p) > 0 {
		if at = v.allocate(len(p)); at == 0 {
			return StatusInternalFailure
		}
		if !v.memory.Write(at, p) {
			return StatusInvalidMemoryAccess
		}
	}
	if !v.memory.WriteUint32Le(uint32(place), at) || !v.memory.WriteUint32Le(uint32(size), uint32(len(p))) {
		return StatusInvalidMemoryAccess
	}
	return StatusOK
}

func (v *vm) writeUint32(n uint32, place uint64) Status {
	if !v.memory.WriteUint32Le(uint32(place), n) {
		return StatusInvalidMemoryAccess
	}
	return StatusOK
}

func (v *vm) writeUint64(n uint64, place uint64) Status {
	if !v.memory.WriteUint64Le(uint32(place), n) {
		return StatusInvalidMemoryAccess
	}
	return StatusOK
}

// maxPairs and maxPairsBytes are Envoy's limits for a header map that a filter hands over.
const (
	maxPairs      = 1024
	maxPairsBytes = 1 << 20
)

// appendPairs encodes a header map as the ABI defines it: the number of pairs, the lengths of names and values, then
// each name and value followed by a zero byte.
func appendPairs(h *Headers) []byte {
	out := binary.LittleEndian.AppendUint32(nil, uint32(h.Len()))
	for _, f := range h.All() {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(f.Name)))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(f.Value)))
	}
	for _, f := range h.All() {
		out = append(append(out, f.Name...), 0)
		out = append(append(out, f.Value...), 0)
	}
	return out
}

// readPairs decodes what [appendPairs] writes, within Envoy's limits.
func readPairs(p []byte) ([]Field, bool) {
	if len(p) == 0 {
		return nil, true
	}
	if len(p) < 4 || len(p) > maxPairsBytes {
		return nil, false
	}
	n := binary.LittleEndian.Uint32(p)
	p = p[4:]
	if n > maxPairs || len(p) < int(n)*8 {
		return nil, false
	}
	sizes, p := p[:n*8], p[n*8:]
	take := func(size uint32) (string, bool) {
		if uint64(size)+1 > uint64(len(p)) {
			return "", false
		}
		s := string(p[:size])
		p = p[size+1:]
		return s, true
	}
	out := make([]Field, n)
	for i := range out {
		var ok1, ok2 bool
		out[i].Name, ok1 = take(binary.LittleEndian.Uint32(sizes[i*8:]))
		out[i].Value, ok2 = take(binary.LittleEndian.Uint32(sizes[i*8+4:]))
		if !ok1 || !ok2 {
			return nil, false
		}
	}
	return out, true
}
