// Package reach asks Envoys which servers they reach, over Envoy's health discovery service (HDS).
//
// It knows addresses and how Envoys check them. It does not know which models servers have, or what follows from a
// report.
package reach
