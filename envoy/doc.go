// Package envoy runs an Envoy: it writes the bootstrap, finds the program, starts it, waits until it serves and stops it.
//
// It knows processes, files and Envoy's admin interface, not models, routes or what is in the resources it is given.
package envoy
