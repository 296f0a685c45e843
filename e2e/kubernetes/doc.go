// Package kubernetes tests harmony controlplane with a pool whose servers are a Service of Kubernetes, on a real API
// server and with the Role of docs/control-plane.md.
//
// It knows Kubernetes' API by its JSON. It does not know how the control plane follows it.
package kubernetes
