// Package plugin connects exchanges to proxy-wasm: it moves headers and bytes between the host and the core.
//
// It knows the ABI and the host's rules. It does not know Harmony, the OpenAI API or any server. It is the only package
// that imports the SDK.
package plugin
