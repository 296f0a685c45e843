package wasmhost

import (
	"encoding/binary"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// getProperty knows the attributes of Envoy that mean something for one HTTP stream. Text comes as it is, numbers and
// yes or no as the ABI has them.
func getProperty(v *vm, a []uint64) Status {
	path, ok := v.readString(a[0], a[1])
	if !ok {
		return StatusInvalidMemoryAccess
	}
	value, ok := v.property(strings.Split(strings.TrimSuffix(path, "\x00"), "\x00"))
	if !ok {
		return StatusNotFound
	}
	return v.give(value, a[2], a[3])
}

func (v *vm) property(path []string) ([]byte, bool) {
	p := &v.worker.host.plugin
	switch path[0] {
	case "plugin_name":
		return []byte(p.Name), true
	case "plugin_root_id":
		return []byte(p.RootID), true
	case "plugin_vm_id":
		return []byte(p.VMID), true
	case "node":
		if len(path) == 2 && path[1] == "id" {
			return []byte(v.worker.host.options.Node), true
		}
		return nil, false
	}
	s := v.active
	if s == nil {
		return nil, false
	}
	if len(path) == 2 && path[0] == "filter_state" {
		value, ok := s.state[strings.TrimPrefix(path[1], "wasm.")]
		return value, ok && strings.HasPrefix(path[1], "wasm.")
	}
	if len(path) == 1 {
		value, ok := s.state[path[0]]
		return value, ok
	}
	switch path[0] {
	case "request":
		return s.requestProperty(path[1:])
	case "response":
		return s.responseProperty(path[1:])
	case "connection":
		return s.connectionProperty(path[1])
	case "source":
		return addressProperty(s.options.ClientAddress, path[1])
	case "destination":
		return addressProperty(s.options.LocalAddress, path[1])
	case "upstream":
		return addressProperty(s.upstream, path[1])
	case "xds":
		return s.xdsProperty(path[1])
	}
	return nil, false
}

func text(s string, there bool) ([]byte, bool) {
	if !there {
		return nil, false
	}
	return []byte(s), true
}

func number(n uint64) ([]byte, bool) { return binary.LittleEndian.AppendUint64(nil, n), true }

// headerProperty is request.headers.NAME and its like.
func headerProperty(h *Headers, path []string) ([]byte, bool) {
	if len(path) != 2 {
		return nil, false
	}
	value, ok := h.Lookup(path[1])
	return text(value, ok)
}

func (s *Stream) requestProperty(path []string) ([]byte, bool) {
	h := s.request.headers
	target := h.Get(":path")
	file, query, hasQuery := strings.Cut(target, "?")
	switch path[0] {
	case "path":
		return text(target, h != nil)
	case "url_path":
		return text(file, h != nil)
	case "query":
		return text(query, hasQuery || h != nil)
	case "host":
		return text(h.Lookup(":authority"))
	case "scheme":
		return text(h.Lookup(":scheme"))
	case "method":
		return text(h.Lookup(":method"))
	case "referer":
		return text(h.Lookup("referer"))
	case "useragent":
		return text(h.Lookup("user-agent"))
	case "id":
		return text(h.Lookup("x-request-id"))
	case "protocol":
		return text(s.options.Protocol, s.options.Protocol != "")
	case "headers":
		return headerProperty(h, path)
	case "size":
		if length, err := strconv.ParseUint(h.Get("content-length"), 10, 64); err == nil {
			return number(length)
		}
		return number(s.request.bytes)
	case "total_size":
		return number(s.request.bytes + uint64(h.Bytes()))
	case "time":
		return number(uint64(s.opened.UnixNano()))
	case "duration":
		if !s.logging {
			return nil, false
		}
		return number(uint64(s.worker.host.options.Now().Sub(s.opened) / time.Nanosecond))
	}
	return nil, false
}

func (s *Stream) responseProperty(path []string) ([]byte, bool) {
	h := s.response.headers
	switch path[0] {
	case "code":
		if h == nil {
			return nil, false
		}
		code, err := strconv.ParseUint(h.Get(":status"), 10, 64)
		if err != nil {
			code = http.StatusOK
		}
		return number(code)
	case "code_details":
		return text(s.details, s.details != "")
	case "flags":
		return number(s.flags)
	case "headers":
		return headerProperty(h, path)
	case "trailers":
		return headerProperty(s.response.trailers, path)
	case "size":
		return number(s.response.bytes)
	case "total_size":
		return number(s.response.bytes + uint64(h.Bytes()))
	}
	return nil, false
}

func (s *Stream) connectionProperty(name string) ([]byte, bool) {
	if name == "mtls" {
		return []byte{0}, true
	}
	return nil, false
}

func addressProperty(address, name string) ([]byte, bool) {
	if address == "" {
		return nil, false
	}
	switch name {
	case "address":
		return []byte(address), true
	case "port":
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, false
		}
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, false
		}
		return number(n)
	}
	return nil, false
}

func (s *Stream) xdsProperty(name string) ([]byte, bool) {
	switch r := s.route; {
	case r == nil:
	case name == "route_name":
		return text(r.Name, r.Name != "")
	case name == "cluster_name":
		return text(r.Cluster, r.Cluster != "")
	}
	return nil, false
}

// setProperty keeps what the filter says as filter state, where access logs find it.
func setProperty(v *vm, a []uint64) Status {
	path, ok1 := v.readString(a[0], a[1])
	value, ok2 := v.read(a[2], a[3])
	if !ok1 || !ok2 {
		return StatusInvalidMemoryAccess
	}
	if v.active == nil {
		return StatusNotFound
	}
	v.active.state[strings.ReplaceAll(strings.TrimSuffix(path, "\x00"), "\x00", ".")] = value
	return StatusOK
}
