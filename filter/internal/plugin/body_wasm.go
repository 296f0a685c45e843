//go:build wasm

package plugin

import (
	"strconv"
	"unsafe"
)

//go:wasmimport env proxy_get_buffer_bytes
func proxyGetBufferBytes(buffer, start, size uint32, data, read unsafe.Pointer) uint32

// responseBody is the ABI's number of the buffer with the body of a response.
const responseBody = 1

// bodyData and bodySize are where the host writes what it hands over. The SDK's function has both on the heap, which
// would be garbage for each token of a stream.
var (
	bodyData *byte
	bodySize uint32
)

// hostError is a host call's status other than OK.
type hostError uint32

// Error implements error.
func (e hostError) Error() string { return "status " + strconv.Itoa(int(e)) }

// readBody reads the beginning of the response's body.
func readBody(size int) ([]byte, error) {
	bodyData, bodySize = nil, 0
	status := proxyGetBufferBytes(responseBody, 0, uint32(size), unsafe.Pointer(&bodyData), unsafe.Pointer(&bodySize))
	data := bodyData
	bodyData = nil // it must not keep an arena that is to be replaced
	if status != statusOK || data == nil {
		return nil, hostError(status)
	}
	return unsafe.Slice(data, bodySize), nil
}
