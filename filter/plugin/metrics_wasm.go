//go:build wasm

package plugin

import "unsafe"

// The SDK's own functions for metrics end the VM when the host has no room for another one.

//go:wasmimport env proxy_define_metric
func proxyDefineMetric(metricType uint32, name unsafe.Pointer, nameSize uint32, id unsafe.Pointer) uint32

//go:wasmimport env proxy_increment_metric
func proxyIncrementMetric(id uint32, offset int64) uint32

const (
	statusOK    = 0
	typeCounter = 0
)

// defineCounter returns 0 where the host does not give a counter.
func defineCounter(name string) metric {
	var id uint32
	if proxyDefineMetric(typeCounter, unsafe.Pointer(unsafe.StringData(name)), uint32(len(name)), unsafe.Pointer(&id)) != statusOK {
		return 0
	}
	return metric(id + 1)
}

// add counts one more. What the host says to it does not matter to any stream.
func (m metric) add() {
	if m != 0 {
		proxyIncrementMetric(uint32(m)-1, 1)
	}
}
