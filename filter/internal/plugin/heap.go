package plugin

import (
	"math"
	"runtime"
	"strconv"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"

	"github.com/harmonyedge/harmonyedge/filter/internal/gcroots"
)

// heap keeps account of a VM's memory, and collects it. To measure the heap takes time in proportion to its size. So the
// timer measures it, and admit measures it before a request that may not fit. Times are in milliseconds since 1970.
//
// Only [heap.collect] runs the collector. An allocation does not, as the filter is built (RATIONALE.md#110).
type heap struct {
	// id distinguishes the VM from the others of the process.
	id uint64
	// inUse is the heap in use when last measured, in bytes, garbage included. admitted is the most that requests admitted
	// since then may have taken. size is the size of the heap. collected is what was in use after the last collection, and
	// allocated what [gcroots.Allocated] returned then.
	inUse, admitted, size, collected, allocated uint64
	// initial is the heap in use before the VM's first stream. wanted is what admit has refused last. refused is the least
	// that a request was refused for since the VM was last idle, or 0.
	initial, wanted, refused uint64
	// measureAt is when the timer may measure again.
	measureAt int64
	// collectedAt is when the heap was last collected. quietUntil is when that is next allowed because of its size after a
	// collection that freed too little: a heap that stays full must not be collected all the time. restUntil is when it is
	// next allowed only to keep the heap from growing.
	collectedAt, quietUntil, restUntil int64
	// open is the number of the VM's streams, including streams that the gateway does not handle. everOpen reports whether
	// the VM has had any stream. ended reports whether a stream has ended since the heap was last collected.
	open            int
	everOpen, ended bool
	// busy reports whether a stream has done anything since the last tick.
	busy bool
	// Each collection calls paused with the microseconds that it took. Without a host that counts them it is nil.
	paused func(micros int64)
}

const (
	// pauseShare bounds the share of time for measuring the heap, or for collecting it in vain: one part in pauseShare.
	pauseShare = 20
	// maxPause is how long the timer leaves a full heap alone while no stream ends. There is hardly anything to collect
	// then.
	maxPause = 30_000
)

// begin and end count the streams of the VM. begin collects a heap that may be full of garbage.
func (h *heap) begin() {
	if !h.everOpen {
		h.measure()
		h.initial, h.collected, h.allocated = h.inUse, h.inUse, gcroots.Allocated()
	}
	if h.full() {
		h.collect(0, math.MaxUint64, now())
	}
	h.open++
	h.everOpen, h.busy = true, true
}

func (h *heap) end() {
	h.open--
	h.ended = true
}

// idle reports whether the VM has had streams and has none now.
func (h *heap) idle() bool { return h.open == 0 && h.everOpen }

func (h *heap) measure() {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	h.inUse, h.size, h.admitted = stats.HeapInuse, stats.HeapSys, 0
}

// garbage returns the most that may be garbage, in bytes: what was allocated since the last collection.
func (h *heap) garbage() uint64 { return gcroots.Allocated() - h.allocated }

// full reports whether the heap may have no room that is not garbage. A heap that had little room after its last
// collection may grow by a third.
func (h *heap) full() bool { return h.garbage() > max(h.size-min(h.collected, h.size), h.size/3) }

// admit is [heap.admits] for a request that may be asked again. It also reports false if the heap would have to grow,
// and collecting it may make the room. at is the time.
func (h *heap) admit(need, limit uint64, at int64) bool {
	garbage := h.garbage()
	if h.collected+garbage+need > h.size && garbage > h.size/4 && at >= h.restUntil {
		h.wanted = need
		return false
	}
	return h.admits(need, limit)
}

// admits reports whether need more bytes fit into limit, and reserves them. It does not collect the heap.
func (h *heap) admits(need, limit uint64) bool {
	if h.inUse+h.admitted+need > limit {
		h.measure()
	}
	if h.inUse+h.admitted+need > limit {
		h.wanted = need
		return false
	}
	h.admitted += need
	return true
}

// makeRoom collects the heap for a request that admit has refused. It reports whether to ask admit again. See
// [heap.collect] for what may be in use meanwhile.
func (h *heap) makeRoom(limit uint64, at int64) bool {
	if at < h.quietUntil && h.inUse+h.wanted > limit {
		return false
	}
	h.collect(h.wanted, limit, at)
	return true
}

// refuse notes that the request is refused that admit has refused last.
func (h *heap) refuse() {
	if h.refused == 0 || h.wanted < h.refused {
		h.refused = h.wanted
	}
}

// collect collects the heap. Nothing that a running function still needs may be reachable only from its own variables,
// since the collector does not see them. So collect is called where a callback begins, and by the timer. The SDK holds
// the plugins and the streams in a global variable.
func (h *heap) collect(need, limit uint64, at int64) {
	started := time.Now()
	runtime.GC() //nolint:forbidigo // by this function's callers
	if h.paused != nil {
		h.paused(time.Since(started).Microseconds())
	}
	h.measure()
	h.ended, h.collectedAt, h.collected, h.allocated = false, at, h.inUse, gcroots.Allocated()
	h.restUntil = at + pauseShare*time.Since(started).Milliseconds()
	if h.inUse+need > limit {
		h.quietUntil = h.restUntil
	}
}

// enforce measures the heap, and collects it if it is over limit, if an idle VM has refused a request, or if it is
// [heap.due]. stuck is [heap.stuck] after that.
func (h *heap) enforce(limit uint64, at int64) (stuck bool) {
	if at >= h.measureAt {
		started := time.Now()
		h.measure()
		h.measureAt = at + pauseShare*time.Since(started).Milliseconds()
	}
	due := h.due()
	h.busy = false
	refusal := h.idle() && h.refused > 0
	if h.inUse <= limit && !refusal {
		if due {
			h.collect(0, limit, at)
		}
		return false
	}
	worthwhile := h.ended || at >= h.collectedAt+maxPause
	if h.idle() || worthwhile && at >= h.quietUntil { // an idle VM holds up no stream
		h.collect(0, limit, at)
	}
	stuck = h.stuck(limit)
	if h.idle() {
		h.refused = 0
	}
	return stuck
}

// due reports whether the heap is to be collected before an allocation has to: at a quiet moment if there may be some
// garbage, and at any moment if there may be much and the heap is nearly full.
func (h *heap) due() bool {
	garbage := h.inUse - min(h.collected, h.inUse)
	return !h.busy && garbage > h.size/8 || garbage > h.size/4 && h.inUse > h.size-h.size/8
}

// stuck reports whether no stream is open that could need the heap, and the heap is over limit or has no room for a
// request that a new VM would admit.
func (h *heap) stuck(limit uint64) bool {
	refusal := h.refused > 0 && h.inUse+h.refused > limit && h.initial+h.refused <= limit
	return h.idle() && (h.inUse > limit || refusal)
}

// endFull ends a VM that is [heap.stuck]. Nothing else would make room: a wasm memory does not shrink, and what fills
// the heap stays in it. The host starts a new VM for the next request, which takes milliseconds.
// A VM that has had no streams stays, since its successor would be as full.
func (v *vm) endFull(limit uint64) {
	v.metrics.EndedFull()
	proxywasm.LogError("harmony: " + strconv.FormatUint(v.heap.inUse, 10) + " bytes of the heap are in use, " +
		"which is too much for memory_limit (" + strconv.FormatUint(limit, 10) + "), and no stream is open: " +
		"the VM ends itself, and the next request starts another")
	trap()
}
