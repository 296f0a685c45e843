package plugin

import (
	"math"
	"runtime"
	"strconv"
	"time"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"

	"github.com/harmonyedge/harmonyedge/filter/internal/gcroots"
)

// heap keeps account of a VM's memory, and collects it. Nothing is freed between two collections, so what is in use is
// what the last one has left, and what was allocated since. Times are in milliseconds since 1970.
//
// Only [heap.collect] runs the collector. An allocation does not, as the filter is built (RATIONALE.md#110).
type heap struct {
	// id distinguishes the VM from the others of the process.
	id uint64
	// collected is the heap in use after the last collection, in bytes, and allocated what [gcroots.Allocated] returned
	// then. collectAt is what it returns when there is enough garbage for the next one.
	collected, allocated, collectAt uint64
	// inUse is the heap in use when last looked at, in bytes, garbage included.
	inUse uint64
	// initial is the heap in use before the VM's first stream. wanted is what admit has refused last. refused is the least
	// that a request was refused for since the VM was last idle, or 0.
	initial, wanted, refused uint64
	// collectedAt is when the heap was last collected. quietUntil is when a heap beyond its limit may be collected again
	// after a collection that freed too little: it must not be collected all the time.
	collectedAt, quietUntil int64
	// open is the number of the VM's streams, including streams that the gateway does not handle, without those that were
	// released. everOpen reports whether the VM has had any stream. ended reports whether a stream has ended since the heap
	// was last collected.
	open            int
	everOpen, ended bool
	// busy reports whether a stream has done anything since the last tick.
	busy bool
	// Each collection calls paused with the microseconds that it took. Without a host that counts them it is nil.
	paused func(micros int64)
}

const (
	// minGarbage is how much garbage the heap may have, in bytes, before it is collected. A larger heap may have half as
	// much as it has in use: a collection takes time in proportion to that.
	minGarbage = 2 << 20
	// pauseShare bounds the share of time for collecting the heap in vain: one part in pauseShare.
	pauseShare = 20
	// maxPause is how long the timer leaves a full heap alone while no stream ends. There is hardly anything to collect
	// then.
	maxPause = 30_000
)

// begin and end count the streams of the VM.
func (h *heap) begin() {
	if !h.everOpen {
		h.measure()
		h.initial = h.inUse
	}
	h.relieve()
	h.open++
	h.everOpen, h.busy = true, true
}

func (h *heap) end() {
	h.open--
	h.ended = true
}

// release takes a stream out of the count before its end. It needs no more of the heap, may last an hour, and its client
// connects again: it must not keep a full VM from being replaced.
func (h *heap) release() { h.open-- }

// idle reports whether the VM has had streams and has none now.
func (h *heap) idle() bool { return h.open == 0 && h.everOpen }

// measure begins the account anew, after a collection.
func (h *heap) measure() {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	h.account(stats.HeapInuse)
}

func (h *heap) account(inUse uint64) {
	h.inUse, h.collected, h.allocated = inUse, inUse, gcroots.Allocated()
	h.collectAt = h.allocated + h.mostGarbage()
}

// mostGarbage returns how much garbage the heap may have, in bytes.
func (h *heap) mostGarbage() uint64 { return max(minGarbage, h.collected/2) }

// garbage returns the most that may be garbage, in bytes: what was allocated since the last collection.
func (h *heap) garbage() uint64 { return gcroots.Allocated() - h.allocated }

// relieve collects the heap if it may have too much garbage. See [heap.collect] for what may be in use meanwhile.
func (h *heap) relieve() {
	if gcroots.Allocated() >= h.collectAt {
		h.collect(0, math.MaxUint64, now())
	}
}

// relieveFor is relieve before something large is allocated: less garbage is enough, so that the heap need not grow.
func (h *heap) relieveFor(size int) {
	if size >= arenaFrom && h.garbage() > h.mostGarbage()/4 {
		h.collect(0, math.MaxUint64, now())
	}
}

// fits reports whether need more bytes fit into limit, garbage included.
func (h *heap) fits(need, limit uint64) bool { return h.collected+h.garbage()+need <= limit }

// admit reports whether need more bytes fit into limit. It does not collect the heap.
func (h *heap) admit(need, limit uint64) bool {
	h.inUse = h.collected + h.garbage()
	if h.inUse+need > limit {
		h.wanted = need
		return false
	}
	return true
}

// makeRoom collects the heap for a request that admit has refused, after freed bytes were given up for it. It reports
// whether to ask admit again. See [heap.collect] for what may be in use meanwhile.
func (h *heap) makeRoom(limit, freed uint64, at int64) bool {
	if at < h.quietUntil && h.inUse+h.wanted > limit+freed {
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
	took := time.Since(started).Microseconds()
	if h.paused != nil {
		h.paused(took)
	}
	h.measure()
	h.ended, h.collectedAt = false, at
	if h.inUse+need > limit {
		h.quietUntil = at + pauseShare*took/1000
	}
}

// enforce collects the heap if it is over limit, if an idle VM has refused a request, or if it is [heap.due]. stuck is
// [heap.stuck] after that.
func (h *heap) enforce(limit uint64, at int64) (stuck bool) {
	h.inUse = h.collected + h.garbage()
	due := h.due()
	h.busy = false
	if h.inUse <= limit && !h.lacked() {
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

// lacked reports whether an idle VM has refused a request. Then all that can be given up is, before it is ended.
func (h *heap) lacked() bool { return h.idle() && h.refused > 0 }

// due reports whether the timer is to collect the heap: at a quiet moment if there may be some garbage, and at any
// moment if there may be too much.
func (h *heap) due() bool {
	most := h.mostGarbage()
	return h.garbage() >= most || !h.busy && h.garbage() > most/8
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
