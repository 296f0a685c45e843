// Package tracing sends spans of OpenTelemetry to a collector, within limits that a dead collector cannot exceed.
//
// It knows the SDK and OTLP. It does not know what is traced.
package tracing
