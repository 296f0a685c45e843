// Package config reads and writes the filter's configuration as it travels from the control plane to the filter.
//
// It knows the contract's fields and JSON, not proxy-wasm, xDS or what the settings do.
package config
