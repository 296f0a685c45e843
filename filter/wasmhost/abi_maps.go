package wasmhost

// The header map types of the ABI.
const (
	mapRequestHeaders       = 0
	mapRequestTrailers      = 1
	mapResponseHeaders      = 2
	mapResponseTrailers     = 3
	mapCallResponseHeaders  = 6
	mapCallResponseTrailers = 7
)

// readable returns the header map if the filter may read it now, and nil otherwise.
func (v *vm) readable(kind uint64) *Headers {
	switch kind {
	case mapCallResponseHeaders:
		if v.callout != nil {
			return v.callout.Headers
		}
		return nil
	case mapCallResponseTrailers:
		if v.callout != nil {
			return v.callout.Trailers
		}
		return nil
	}
	if v.active == nil {
		return nil
	}
	return v.active.headerMap(kind)
}

// writable returns the header map if the filter may edit it now, and nil otherwise.
func (v *vm) writable(kind uint64) *Headers {
	if v.active == nil || v.active.logging || kind > mapResponseTrailers {
		return nil
	}
	return v.active.headerMap(kind)
}

// edit changes a header map if the filter may edit it now.
func (v *vm) edit(kind uint64, update func(*Headers)) Status {
	h := v.writable(kind)
	if h == nil {
		return StatusBadArgument
	}
	update(h)
	if kind == mapRequestHeaders {
		// Modules of this ABI version cannot keep the route: Envoy chooses it again after every edit.
		v.active.route = nil
	}
	return StatusOK
}

func getHeader(v *vm, a []uint64) Status {
	name, ok := v.readString(a[1], a[2])
	if !ok {
		return StatusInvalidMemoryAccess
	}
	h := v.readable(a[0])
	if h == nil {
		return StatusBadArgument
	}
	value, ok := h.Lookup(name)
	if !ok {
		return StatusNotFound
	}
	return v.writeNew([]byte(value), a[3], a[4])
}

// editField changes one field of a header map.
func (v *vm) editField(a []uint64, update func(h *Headers, name, value string)) Status {
	name, ok1 := v.readString(a[1], a[2])
	value, ok2 := v.readString(a[3], a[4])
	if !ok1 || !ok2 {
		return StatusInvalidMemoryAccess
	}
	return v.edit(a[0], func(h *Headers) { update(h, name, value) })
}

func addHeader(v *vm, a []uint64) Status     { return v.editField(a, (*Headers).Add) }
func replaceHeader(v *vm, a []uint64) Status { return v.editField(a, (*Headers).Set) }

func removeHeader(v *vm, a []uint64) Status {
	name, ok := v.readString(a[1], a[2])
	if !ok {
		return StatusInvalidMemoryAccess
	}
	return v.edit(a[0], func(h *Headers) { h.Remove(name) })
}

func getHeaders(v *vm, a []uint64) Status {
	h := v.readable(a[0])
	if h == nil {
		// Unlike the call for a single header, this one does not fail.
		return v.writeNew(nil, a[1], a[2])
	}
	return v.writeNew(appendPairs(h), a[1], a[2])
}

func setHeaders(v *vm, a []uint64) Status {
	p, ok := v.read(a[1], a[2])
	if !ok {
		return StatusInvalidMemoryAccess
	}
	// A map with too many pairs becomes an empty one, without an error.
	fields, _ := readPairs(p)
	return v.edit(a[0], func(h *Headers) { h.replaceAll(fields) })
}

func getHeadersSize(v *vm, a []uint64) Status {
	h := v.readable(a[0])
	if h == nil {
		return StatusBadArgument
	}
	return v.writeUint32(uint32(h.Bytes()), a[1])
}
