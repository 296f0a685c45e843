// Package e2e tests the gateway from outside, on real parts: the shipped filter in the real Envoy, real clients, and a
// simulated GPU server behind them.
//
// It knows what clients and servers see, not how the filter does it. Its tests want the tag e2e and what `make e2e` builds
// and installs.
package e2e
