// Package istio writes a configuration as Istio's objects: a gateway's listeners, its routes, its servers, and the
// filter.
//
// It knows Istio's API and how Istio makes Envoy's resources of it. It does not know how a gateway is deployed, and
// asks no cluster.
package istio
