// Package envoygateway writes a configuration as objects of the Gateway API and of Envoy Gateway: a gateway's
// listeners, its routes, its servers, and the filter.
//
// It knows these APIs and how Envoy Gateway makes Envoy's resources of them. It does not know how a gateway is
// deployed, and asks no cluster.
package envoygateway
