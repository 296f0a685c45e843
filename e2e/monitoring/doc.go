// Package monitoring tests what docs/monitoring.md hands out: a real Prometheus scrapes a fleet by the example's
// configuration, evaluates the alert rules, and answers every query of the dashboard and of docs/metrics.md.
//
// It knows the names of metrics and labels, not how they are counted.
package monitoring
