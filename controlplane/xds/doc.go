// Package xds turns the operator's configuration into Envoy's resources: one listener with the filter and its routes,
// and a cluster for each pool of servers.
//
// It knows Envoy's API and the filter's configuration, not how resources reach an Envoy, nor what the filter does.
package xds
