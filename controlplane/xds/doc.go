// Package xds builds Envoy's resources from the operator's configuration: listeners with the filter and its routes, and
// a cluster for each pool of servers.
//
// It knows Envoy's API and the filter's configuration. It does not know how resources reach an Envoy, or what the
// filter does.
package xds
