package main

import (
	"encoding/binary"
	"unsafe"
)

//go:wasmimport env proxy_log
func proxyLog(level uint32, data unsafe.Pointer, size uint32) uint32

//go:wasmimport env proxy_get_header_map_value
func proxyGetHeader(kind uint32, key unsafe.Pointer, size uint32, value, valueSize unsafe.Pointer) uint32

//go:wasmimport env proxy_get_header_map_pairs
func proxyGetHeaders(kind uint32, value, valueSize unsafe.Pointer) uint32

//go:wasmimport env proxy_get_header_map_size
func proxyGetHeadersSize(kind uint32, size unsafe.Pointer) uint32

//go:wasmimport env proxy_set_header_map_pairs
func proxySetHeaders(kind uint32, data unsafe.Pointer, size uint32) uint32

//go:wasmimport env proxy_add_header_map_value
func proxyAddHeader(kind uint32, key unsafe.Pointer, size uint32, value unsafe.Pointer, valueSize uint32) uint32

//go:wasmimport env proxy_replace_header_map_value
func proxyReplaceHeader(kind uint32, key unsafe.Pointer, size uint32, value unsafe.Pointer, valueSize uint32) uint32

//go:wasmimport env proxy_remove_header_map_value
func proxyRemoveHeader(kind uint32, key unsafe.Pointer, size uint32) uint32

//go:wasmimport env proxy_get_buffer_bytes
func proxyGetBuffer(kind, start, size uint32, value, valueSize unsafe.Pointer) uint32

//go:wasmimport env proxy_set_buffer_bytes
func proxySetBuffer(kind, start, size uint32, data unsafe.Pointer, dataSize uint32) uint32

//go:wasmimport env proxy_send_local_response
func proxySendLocalResponse(status uint32, details unsafe.Pointer, detailsSize uint32, body unsafe.Pointer,
	bodySize uint32, headers unsafe.Pointer, headersSize uint32, grpc int32) uint32

//go:wasmimport env proxy_continue_stream
func proxyContinueStream(kind uint32) uint32

//go:wasmimport env proxy_close_stream
func proxyCloseStream(kind uint32) uint32

//go:wasmimport env proxy_get_property
func proxyGetProperty(path unsafe.Pointer, size uint32, value, valueSize unsafe.Pointer) uint32

//go:wasmimport env proxy_set_property
func proxySetProperty(path unsafe.Pointer, size uint32, value unsafe.Pointer, valueSize uint32) uint32

//go:wasmimport env proxy_define_metric
func proxyDefineMetric(kind uint32, name unsafe.Pointer, size uint32, id unsafe.Pointer) uint32

//go:wasmimport env proxy_increment_metric
func proxyIncrementMetric(id uint32, by int64) uint32

//go:wasmimport env proxy_record_metric
func proxyRecordMetric(id uint32, value uint64) uint32

//go:wasmimport env proxy_get_metric
func proxyGetMetric(id uint32, value unsafe.Pointer) uint32

//go:wasmimport env proxy_get_shared_data
func proxyGetShared(key unsafe.Pointer, size uint32, value, valueSize, cas unsafe.Pointer) uint32

//go:wasmimport env proxy_set_shared_data
func proxySetShared(key unsafe.Pointer, size uint32, value unsafe.Pointer, valueSize, cas uint32) uint32

//go:wasmimport env proxy_register_shared_queue
func proxyRegisterQueue(name unsafe.Pointer, size uint32, id unsafe.Pointer) uint32

//go:wasmimport env proxy_resolve_shared_queue
func proxyResolveQueue(vm unsafe.Pointer, vmSize uint32, name unsafe.Pointer, size uint32, id unsafe.Pointer) uint32

//go:wasmimport env proxy_dequeue_shared_queue
func proxyDequeue(id uint32, value, valueSize unsafe.Pointer) uint32

//go:wasmimport env proxy_enqueue_shared_queue
func proxyEnqueue(id uint32, value unsafe.Pointer, size uint32) uint32

//go:wasmimport env proxy_http_call
func proxyHTTPCall(cluster unsafe.Pointer, clusterSize uint32, headers unsafe.Pointer, headersSize uint32,
	body unsafe.Pointer, bodySize uint32, trailers unsafe.Pointer, trailersSize, timeout uint32,
	token unsafe.Pointer) uint32

//go:wasmimport env proxy_get_status
func proxyGetStatus(code, message, messageSize unsafe.Pointer) uint32

//go:wasmimport env proxy_call_foreign_function
func proxyForeign(name unsafe.Pointer, size uint32, argument unsafe.Pointer, argumentSize uint32, value,
	valueSize unsafe.Pointer) uint32

//go:wasmimport env proxy_set_tick_period_milliseconds
func proxySetTickPeriod(period uint32) uint32

//go:wasmimport env proxy_set_effective_context
func proxySetEffectiveContext(id uint32) uint32

// blocks keeps the memory that the host writes to alive until it is read.
var blocks = map[uintptr][]byte{}

// malloc allocates the memory for what the host returns.
//
//export malloc
func malloc(size uintptr) unsafe.Pointer {
	block := make([]byte, size+1)
	at := unsafe.Pointer(&block[0])
	blocks[uintptr(at)] = block
	return at
}

// given receives the address and size of what the host returns.
type given struct{ at, size uint32 }

func (g *given) where() (at, size unsafe.Pointer) {
	return unsafe.Pointer(&g.at), unsafe.Pointer(&g.size)
}

// take returns what the host has returned. ok is false if the host has returned nothing.
func (g *given) take() (text string, ok bool) {
	block, ok := blocks[uintptr(g.at)]
	if !ok {
		return "", false
	}
	delete(blocks, uintptr(g.at))
	return string(block[:g.size]), true
}

var nothing [1]byte

// ptr returns a text in the form that the ABI needs.
func ptr(text string) (unsafe.Pointer, uint32) {
	if text == "" {
		return unsafe.Pointer(&nothing[0]), 0
	}
	return unsafe.Pointer(unsafe.StringData(text)), uint32(len(text))
}

// pack encodes headers in the form of the ABI.
func pack(pairs [][2]string) string {
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(pairs)))
	for _, p := range pairs {
		out = binary.LittleEndian.AppendUint32(out, uint32(len(p[0])))
		out = binary.LittleEndian.AppendUint32(out, uint32(len(p[1])))
	}
	for _, p := range pairs {
		out = append(append(out, p[0]...), 0)
		out = append(append(out, p[1]...), 0)
	}
	return string(out)
}

// unpack decodes headers from the form of the ABI.
func unpack(text string) [][2]string {
	if len(text) < 4 {
		return nil
	}
	number := func(at int) int { return int(binary.LittleEndian.Uint32([]byte(text[at : at+4]))) }
	pairs := make([][2]string, number(0))
	at := 4 + 8*len(pairs)
	for i := range pairs {
		for j := range 2 {
			size := number(4 + 8*i + 4*j)
			pairs[i][j] = text[at : at+size]
			at += size + 1
		}
	}
	return pairs
}
