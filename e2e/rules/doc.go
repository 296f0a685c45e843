// Package rules compares Envoy and the host without Envoy with the recorded rules of proxy-wasm in this folder.
//
// It knows the probe filter, which runs scripts. It does not know the filter that ships, nor OpenAI's APIs.
package rules
