//go:build wasm

package plugin

import (
	"errors"
	"strconv"
	"unsafe"
)

//go:wasmimport env proxy_get_buffer_bytes
func proxyGetBufferBytes(buffer, start, size uint32, data, read unsafe.Pointer) uint32

//go:wasmimport env proxy_get_header_map_pairs
func proxyGetHeaderMapPairs(kind uint32, data, size unsafe.Pointer) uint32

//go:wasmimport env proxy_get_property
func proxyGetProperty(path unsafe.Pointer, pathSize uint32, data, size unsafe.Pointer) uint32

//go:wasmimport env proxy_set_property
func proxySetProperty(path unsafe.Pointer, pathSize uint32, data unsafe.Pointer, size uint32) uint32

// The ABI's numbers of buffers and of header maps.
const (
	requestBody, responseBody       = 0, 1
	calloutBody                     = 4
	requestHeaders, responseHeaders = 0, 2
	calloutHeaders                  = 6
)

// readData and readSize are where the host writes what it hands over. The SDK's functions have both on the heap, which
// would be garbage for each token of a stream.
var (
	readData *byte
	readSize uint32
)

// hostError is a host call's status other than OK.
type hostError uint32

// Error implements error.
func (e hostError) Error() string { return "status " + strconv.Itoa(int(e)) }

// errMissing is the error of what the host does not have, and of what is empty.
var errMissing = errors.New("the host has none")

// startReading makes [malloc] use the shared memory, until read is called.
func startReading() {
	readData, readSize, reads = nil, 0, true
}

// read returns what the host has handed over. It is valid until the next reading.
func read(status uint32) ([]byte, error) {
	data, size := readData, readSize
	readData, readSize, reads = nil, 0, false // it must not keep an arena that is to be replaced
	if status != statusOK {
		return nil, hostError(status)
	}
	if data == nil {
		return nil, errMissing
	}
	return unsafe.Slice(data, size), nil
}

func readBuffer(buffer, start, size uint32) ([]byte, error) {
	startReading()
	return read(proxyGetBufferBytes(buffer, start, size, unsafe.Pointer(&readData), unsafe.Pointer(&readSize)))
}

// readPart reads a part of the response's body, or of the request's.
func readPart(response bool, start, size int) ([]byte, error) {
	buffer := uint32(requestBody)
	if response {
		buffer = responseBody
	}
	return readBuffer(buffer, uint32(start), uint32(size))
}

// readRequest reads the request's body, which has size bytes.
func readRequest(size int) ([]byte, error) { return readBuffer(requestBody, 0, uint32(size)) }

// readPiece reads the piece of the response's body that has come, which has size bytes.
func readPiece(size int) ([]byte, error) { return readBuffer(responseBody, 0, uint32(size)) }

func readHeaders(kind uint32) ([][2]string, error) {
	startReading()
	pairs, err := read(proxyGetHeaderMapPairs(kind, unsafe.Pointer(&readData), unsafe.Pointer(&readSize)))
	if err != nil {
		return nil, err
	}
	headers, ok := headersRead.decode(pairs)
	if !ok {
		return nil, errMissing
	}
	return headers, nil
}

// readRequestHeaders and readResponseHeaders read all headers.
func readRequestHeaders() ([][2]string, error)  { return readHeaders(requestHeaders) }
func readResponseHeaders() ([][2]string, error) { return readHeaders(responseHeaders) }

// readCalloutHeaders reads all headers of the answer to a call of the filter's own.
func readCalloutHeaders() ([][2]string, error) { return readHeaders(calloutHeaders) }

// readCalloutBody reads the beginning of the body of that answer, of size bytes.
func readCalloutBody(size int) ([]byte, error) { return readBuffer(calloutBody, 0, uint32(size)) }

// readProperty reads a property, whose path has zeros between its parts.
func readProperty(path string) ([]byte, error) {
	startReading()
	return read(proxyGetProperty(unsafe.Pointer(unsafe.StringData(path)), uint32(len(path)),
		unsafe.Pointer(&readData), unsafe.Pointer(&readSize)))
}

// writeProperty sets a property of the stream.
func writeProperty(path string, value []byte) error {
	if status := proxySetProperty(unsafe.Pointer(unsafe.StringData(path)), uint32(len(path)),
		unsafe.Pointer(unsafe.SliceData(value)), uint32(len(value))); status != statusOK {
		return hostError(status)
	}
	return nil
}
