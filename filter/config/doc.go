// Package config is the filter's configuration as it travels from the control plane to the filter: the control plane
// writes it, the filter reads it.
//
// It knows JSON and names, not proxy-wasm, xDS or what the settings do.
package config
