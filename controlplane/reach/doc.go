// Package reach hears from Envoys which servers they reach, over Envoy's health discovery service (HDS).
//
// It knows addresses and how Envoys check them, not which models servers have, nor what anybody concludes from a report.
package reach
