// Package mesh runs the behaviour suite on gateways that a mesh's own control plane programs.
//
// It knows what clients and servers see. It does not know what a mesh makes of its objects.
package mesh
