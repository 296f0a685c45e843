// Package e2e tests the gateway from outside, on real parts: the shipped filter in the real Envoy, real clients, and a
// simulated GPU server.
//
// It knows what clients and servers see. It does not know how the filter works. Its tests need the build tag e2e, and
// what `make e2e` builds and installs.
package e2e
