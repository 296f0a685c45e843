// Package mesh has the command harmony mesh, which puts the filter into what is there already: Istio, Envoy Gateway, an
// Envoy of the operator's own.
//
// It must not know how the objects are made: package envoy/mesh makes them.
package mesh
