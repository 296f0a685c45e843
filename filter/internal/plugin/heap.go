package plugin

import (
	"runtime"
	"strconv"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"
)

// heap is the account of a VM's memory. Measuring the heap takes time in proportion to its size, so the timer measures
// it, and admit does before a request that may not fit. Times are in milliseconds since 1970.
type heap struct {
	// id tells the VM from the others of the process.
	id uint64
	// inUse is what was in use when last measured, in bytes, garbage included. taken is what requests admitted since then
	// may have taken at most.
	inUse, taken uint64
	// measureAt is when the timer may measure again.
	measureAt int64
	// collectedAt is when the heap was last collected for its size. quietUntil is when it may be again after a collection
	// that made too little room: a heap that stays full must not be collected all the time.
	collectedAt, quietUntil int64
	// open is how many streams the VM has, those that the gateway leaves alone included. served reports whether it has had
	// any, ended whether one has ended since the heap was last collected for its size.
	open          int
	served, ended bool
}

const (
	// rarely is the part of the time, one in so many, that may go into measuring the heap or collecting it in vain.
	rarely = 20
	// maxPause is how long the timer leaves a full heap alone while no stream ends: there is hardly anything to collect.
	maxPause = 30_000
)

// begin and end count the streams of the VM.
func (h *heap) begin() {
	h.open++
	h.served = true
}

func (h *heap) end() {
	h.open--
	h.ended = true
}

// idle reports whether the VM has had streams and has none now.
func (h *heap) idle() bool { return h.open == 0 && h.served }

func (h *heap) measure() {
	h.inUse, h.taken = heapInUse(), 0
}

// admit reports whether need bytes more fit into limit, and takes them. at is the time.
func (h *heap) admit(need, limit uint64, at int64) bool {
	if h.inUse+h.taken+need > limit {
		h.measure()
	}
	if h.inUse+need > limit && at >= h.quietUntil {
		h.collect(need, limit, at)
	}
	if h.inUse+h.taken+need > limit {
		return false
	}
	h.taken += need
	return true
}

// collect frees what can be freed.
func (h *heap) collect(need, limit uint64, at int64) {
	began := time.Now()
	runtime.GC()
	h.measure()
	h.ended, h.collectedAt = false, at
	if h.inUse+need > limit {
		h.quietUntil = at + rarely*time.Since(began).Milliseconds()
	}
}

// weigh measures the heap, and collects it where it is over limit. It reports whether the heap stays over limit after
// that and no stream is open that could need it.
func (h *heap) weigh(limit uint64, at int64) (stuck bool) {
	if at >= h.measureAt {
		began := time.Now()
		h.measure()
		h.measureAt = at + rarely*time.Since(began).Milliseconds()
	}
	if h.inUse <= limit {
		return false
	}
	worthIt := h.ended || at >= h.collectedAt+maxPause
	if h.idle() || worthIt && at >= h.quietUntil { // an idle VM holds up no stream
		h.collect(0, limit, at)
	}
	return h.inUse > limit && h.idle()
}

// endFull ends a VM whose heap is full although no stream is open. Nothing else would make room: a wasm memory does not
// shrink, and what keeps the heap full keeps it full for ever. The host makes a new VM for the next request, which
// takes milliseconds. A VM that has had no streams stays, since another would be as full.
func (v *vm) endFull(limit uint64) {
	v.metrics.EndedFull()
	proxywasm.LogError("harmony: " + strconv.FormatUint(v.heap.inUse, 10) + " bytes of the heap are in use, " +
		"which is over memory_limit (" + strconv.FormatUint(limit, 10) + "), and no stream is open: " +
		"the VM ends itself, and the next request starts another")
	trap()
}

func heapInUse() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse
}
