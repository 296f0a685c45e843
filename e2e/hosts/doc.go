// Package hosts runs the gateway at a URL, in each of the hosts that the behaviour suite compares.
//
// It knows how to start and stop a host. It does not know what any case expects.
package hosts
