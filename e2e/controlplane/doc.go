// Package controlplane tests harmony controlplane, the Envoys that it programs over delta ADS, and how Envoys drain.
//
// It knows processes, resources and running streams, not what the filter makes of a request.
package controlplane
