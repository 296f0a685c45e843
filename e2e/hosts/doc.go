// Package hosts runs the gateway behind a URL, in each of the hosts that the behaviour suite compares.
//
// It knows how a host is started and stopped, not what any case expects.
package hosts
