// Package telemetry tests the metrics and the access log that operators read.
//
// It knows their names and values, not how the filter counts.
package telemetry
