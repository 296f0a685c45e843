// Package config reads and writes the filter's configuration in the form in which the control plane sends it.
//
// It knows the contract's fields and JSON. It does not know proxy-wasm, xDS or what the settings do.
package config
