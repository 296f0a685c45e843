// Package pushed takes in the metrics that Envoys push to the control plane, by OTLP.
//
// It does not know which metrics an Envoy has, or what becomes of them.
package pushed
