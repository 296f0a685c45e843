//go:build !wasm

package plugin

import "github.com/harmonyedge/harmonyedge/harmonycore/contract"

// hostMetrics exist only in a wasm host.
type hostMetrics struct{}

// Define implements [metrics.Host].
func (hostMetrics) Define(contract.MetricKind, string) (uint32, bool) { return 0, false }

// Add implements [metrics.Host].
func (hostMetrics) Add(uint32, int64) {}

// Record implements [metrics.Host].
func (hostMetrics) Record(uint32, uint64) {}
