// Package suite runs the cases natively, under wazero and in Envoy, at every cut of the server's stream, and compares
// what clients and servers see.
//
// It knows the hosts and the reference's renderer, not how the filter translates.
package suite
