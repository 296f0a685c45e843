package wasmhost

import (
	"encoding/binary"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// getProperty offers the attributes of Envoy that make sense for a single HTTP stream. Texts are returned as they
// are, numbers and booleans in the encoding of the ABI.
func getProperty(v *vm, a []uint64) Status {
	path, ok := v.readString(a[0], a[1])
	if !ok {
		return StatusInvalidMemoryAccess
	}
	value, status := v.property(strings.Split(strings.TrimSuffix(path, "\x00"), "\x00"))
	if status != StatusOK {
		return status
	}
	return v.writeNew(value, a[2], a[3])
}

func (v *vm) property(path []string) ([]byte, Status) {
	p := &v.worker.host.plugin
	switch path[0] {
	case "plugin_name":
		return []byte(p.Name), StatusOK
	case "plugin_root_id":
		return []byte(p.RootID), StatusOK
	case "plugin_vm_id":
		return []byte(p.VMID), StatusOK
	}
	attributes, ok := attributes[path[0]]
	if s := v.active; s != nil && !ok {
		key := path[0]
		if key == "filter_state" && len(path) == 2 {
			var known bool
			if key, known = strings.CutPrefix(path[1], "wasm."); !known {
				return nil, StatusNotFound
			}
		} else if len(path) > 1 {
			return nil, StatusNotFound
		}
		if value, ok := s.state[key]; ok {
			return value, StatusOK
		}
	}
	switch {
	case path[0] == "" || ok && len(path) == 1 && v.active != nil:
		return nil, StatusSerializationFailed
	case !ok || len(path) == 1:
		return nil, StatusNotFound
	case path[0] == "xds" && path[1] == "node":
		if len(path) == 3 && path[2] == "id" {
			return []byte(v.worker.host.options.Node), StatusOK
		}
		return nil, StatusNotFound
	case v.active == nil:
		return nil, StatusNotFound
	}
	if value, ok := attributes(v.active, path[1:]); ok {
		return value, StatusOK
	}
	return nil, StatusNotFound
}

// attributes are the groups of a stream's properties, by the first part of their path.
var attributes = map[string]func(*Stream, []string) ([]byte, bool){
	"request":    (*Stream).requestProperty,
	"response":   (*Stream).responseProperty,
	"connection": (*Stream).connectionProperty,
	"source": func(s *Stream, path []string) ([]byte, bool) {
		return addressProperty(s.options.ClientAddress, path[0])
	},
	"destination": func(s *Stream, path []string) ([]byte, bool) {
		return addressProperty(s.options.LocalAddress, path[0])
	},
	"upstream": (*Stream).upstreamProperty,
	"xds":      (*Stream).xdsProperty,
}

func text(s string, found bool) ([]byte, bool) {
	if !found {
		return nil, false
	}
	return []byte(s), true
}

func number(n uint64) ([]byte, bool) { return binary.LittleEndian.AppendUint64(nil, n), true }

// headerProperty returns a property such as request.headers.NAME.
func headerProperty(h *Headers, path []string) ([]byte, bool) {
	if len(path) != 2 {
		return nil, false
	}
	value, ok := h.Lookup(path[1])
	return text(value, ok)
}

func (s *Stream) requestProperty(path []string) ([]byte, bool) {
	// Like the header maps, these are unavailable between the request's callbacks and the log callback.
	h := s.headerMap(mapRequestHeaders)
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
		if length, err := strconv.ParseUint(s.request.headers.Get("content-length"), 10, 64); err == nil {
			return number(length)
		}
		return number(s.request.bytes)
	case "total_size":
		return number(s.request.bytes + uint64(s.request.headers.Bytes()))
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
		return number(uint64(s.status()))
	case "code_details":
		if s.details == nil {
			return nil, false
		}
		return []byte(*s.details), true
	case "flags":
		return number(s.flags)
	case "grpc_status":
		return number(grpcStatus(h.Get(":status")))
	case "headers":
		return headerProperty(s.headerMap(mapResponseHeaders), path)
	case "trailers":
		return headerProperty(s.headerMap(mapResponseTrailers), path)
	case "size":
		return number(s.response.bytes)
	case "total_size":
		return number(s.response.bytes + uint64(h.Bytes()))
	}
	return nil, false
}

// status returns the status of the response, or 0 if there is none.
func (s *Stream) status() int {
	if s.response.headers == nil {
		return 0
	}
	code, err := strconv.ParseUint(s.response.headers.Get(":status"), 10, 31)
	if err != nil {
		return http.StatusOK
	}
	return int(code)
}

// grpcStatus returns the status that gRPC gives an HTTP response that is not gRPC.
func grpcStatus(status string) uint64 {
	switch status {
	case "400":
		return 13
	case "401":
		return 16
	case "403":
		return 7
	case "404":
		return 12
	case "429", "502", "503", "504":
		return 14
	}
	return 2
}

func (s *Stream) connectionProperty(path []string) ([]byte, bool) {
	switch path[0] {
	case "mtls":
		return []byte{0}, true
	case "requested_server_name":
		return nil, true
	}
	return nil, false
}

func (s *Stream) upstreamProperty(path []string) ([]byte, bool) {
	if path[0] == "transport_failure_reason" {
		return text(s.transport, s.upstream != "")
	}
	return addressProperty(s.upstream, path[0])
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

func (s *Stream) xdsProperty(path []string) ([]byte, bool) {
	switch path[0] {
	case "listener_direction":
		return number(0) // the listener has no direction
	case "filter_chain_name":
		return nil, true
	}
	r := s.route
	if r == nil {
		return nil, false
	}
	switch path[0] {
	case "route_name":
		return text(r.Name, r.Name != "")
	case "cluster_name":
		return text(r.Cluster, r.Cluster != "")
	case "virtual_host_name":
		return text(r.VirtualHost, r.VirtualHost != "")
	}
	return nil, false
}

// setProperty stores a value as filter state, where access logs can read it.
func setProperty(v *vm, a []uint64) Status {
	path, ok1 := v.readString(a[0], a[1])
	value, ok2 := v.read(a[2], a[3])
	if !ok1 || !ok2 {
		return StatusInvalidMemoryAccess
	}
	if v.active == nil {
		return StatusNotFound
	}
	v.active.state[strings.TrimSuffix(path, "\x00")] = value
	return StatusOK
}
