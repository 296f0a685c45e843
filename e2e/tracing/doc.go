// Package tracing tests the spans that the gateway, the responses service and the control plane send to a collector.
//
// It knows OpenTelemetry's protocol and names. It does not know how spans are made.
package tracing
