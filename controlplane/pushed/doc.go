// Package pushed takes in what Envoys push to the control plane: their metrics, by OTLP, and what they have had of each
// server, by LRS.
//
// It does not know which metrics an Envoy has, or what becomes of them.
package pushed
