//go:build !wasm

package plugin

import (
	"strings"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
)

func readRequest(size int) ([]byte, error) { return proxywasm.GetHttpRequestBody(0, size) }

func readPiece(size int) ([]byte, error) { return proxywasm.GetHttpResponseBody(0, size) }

func readPart(response bool, start, size int) ([]byte, error) {
	if response {
		return proxywasm.GetHttpResponseBody(start, size)
	}
	return proxywasm.GetHttpRequestBody(start, size)
}

func readCalloutHeaders() ([][2]string, error) { return proxywasm.GetHttpCallResponseHeaders() }

func readCalloutBody(size int) ([]byte, error) { return proxywasm.GetHttpCallResponseBody(0, size) }

func readRequestHeaders() ([][2]string, error) { return proxywasm.GetHttpRequestHeaders() }

func readResponseHeaders() ([][2]string, error) { return proxywasm.GetHttpResponseHeaders() }

func readProperty(path string) ([]byte, error) {
	return proxywasm.GetProperty(strings.Split(path, "\x00"))
}

func writeProperty(path string, value []byte) error {
	return proxywasm.SetProperty([]string{path}, value)
}
