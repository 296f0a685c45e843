// Package check asks a running gateway whether the filter is there and can work, and reads its Envoy's configuration.
//
// It knows what a client of the gateway sees, and Envoy's config_dump. It does not know which mesh has made the
// gateway.
package check
