// Package envoy runs an Envoy: it writes the bootstrap, finds the program, starts it, waits until it serves, and stops
// it.
//
// It knows processes, files and Envoy's admin interface. It does not know models, routes, or what the given resources
// contain.
package envoy
