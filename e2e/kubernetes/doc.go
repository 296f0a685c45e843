// Package kubernetes tests harmony controlplane with pools whose servers are a Service of Kubernetes or an
// InferencePool, on a real API server and with the Role of docs/control-plane.md, that such a server takes what harmony
// mesh istio prints, and that Istio serves an InferencePool by it.
//
// It knows Kubernetes' API by its JSON. It does not know how the control plane follows it.
package kubernetes
