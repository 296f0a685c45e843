// Package requestmodels gives what the gateway sends to servers to the servers' own request models, out of their
// packages. It needs no GPU, and no server runs.
//
// It knows the kinds of servers and their packages. It does not know the requests' members.
package requestmodels
