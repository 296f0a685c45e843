//go:build wasm

package plugin

import (
	"unsafe"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// The SDK's own functions for metrics end the VM if the host has no room for another metric.

//go:wasmimport env proxy_define_metric
func proxyDefineMetric(metricType uint32, name unsafe.Pointer, nameSize uint32, id unsafe.Pointer) uint32

//go:wasmimport env proxy_increment_metric
func proxyIncrementMetric(id uint32, offset int64) uint32

//go:wasmimport env proxy_record_metric
func proxyRecordMetric(id uint32, value uint64) uint32

const statusOK = 0

// hostMetrics are the host's metrics. No stream depends on the results of the host's functions.
type hostMetrics struct{}

// Define implements [metrics.Host].
func (hostMetrics) Define(kind contract.MetricKind, name string) (uint32, bool) {
	var id uint32
	text := unsafe.Pointer(unsafe.StringData(name))
	status := proxyDefineMetric(uint32(kind), text, uint32(len(name)), unsafe.Pointer(&id))
	return id, status == statusOK
}

// Add implements [metrics.Host].
func (hostMetrics) Add(id uint32, n int64) { proxyIncrementMetric(id, n) }

// Record implements [metrics.Host].
func (hostMetrics) Record(id uint32, value uint64) { proxyRecordMetric(id, value) }
