// Package wasmhost runs a proxy-wasm 0.2 filter under wazero by Envoy's rules.
//
// It knows the ABI and how Envoy's filter manager moves a stream, not HTTP on the wire, nor any filter.
package wasmhost
