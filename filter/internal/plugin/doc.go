// Package plugin binds exchange to proxy-wasm: it moves headers and bytes between the host and the core.
//
// It knows the ABI and the host's rules, not Harmony, the OpenAI API or any server; it is the only importer of the SDK.
package plugin
