//go:build wasm

package plugin

// responseStream is the ABI's name for the stream towards the client. The types 2 and 3 do nothing in Envoy.
const responseStream = 1

//go:wasmimport env proxy_close_stream
func proxyCloseStream(streamType uint32) uint32

// closeStream resets the stream of the current context, and the server's with it. Data that the current callback has
// written is lost. The SDK offers it for TCP streams only.
func closeStream() { proxyCloseStream(responseStream) }
