package plugin

import (
	"slices"
	"strconv"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/internal/tap"
)

// tapper sends the frames of a plugin's tapped requests to the recorder, one call after the other. However a
// call ends, no request waits for it.
//
// Calls are made by the timer and where another has ended, because the SDK would give the answer to a call of a
// stream's to that stream, which may be gone by then. So what a stream adds wakes the timer.
type tapper struct {
	outbox
	plugin  *plugin
	key     string
	cluster string
	headers [][2]string
	// all is [contract.Tap.All].
	all string
	// sent is the block of the call under way, or nil.
	sent []byte
	// woken reports whether the timer runs at [wokenMS]. dueAt is when its other duties are due, in milliseconds since
	// 1970.
	woken bool
	dueAt int64
	// failed reports whether the last call failed. quietUntil is when the next failure may be logged, in milliseconds
	// since 1970.
	failed     bool
	quietUntil int64
	// leaving reports whether the host waits for the call under way to end the configuration.
	leaving bool
}

const (
	// wokenMS is how long frames wait for others, in milliseconds.
	wokenMS = 20
	// callMS is how long the recorder may take to answer, in milliseconds.
	callMS = 5_000
	// quietMS is the least time between two lines of the log about failed calls, in milliseconds.
	quietMS = 60_000
)

// newTapper returns the plugin's tapper, or nil if nothing is to be tapped.
func (p *plugin) newTapper(t *contract.Tap) *tapper {
	v := p.vm
	if t.Cluster == "" || len(v.tapKey) < contract.MinTapKey {
		return nil
	}
	x := &tapper{
		outbox: outbox{blocks: &v.blocks, limit: p.memoryLimit},
		plugin: p, key: v.tapKey, cluster: t.Cluster, all: t.All,
		headers: [][2]string{
			{":method", "POST"}, {":path", tap.Path}, {":authority", t.Cluster}, {"content-type", tap.MediaType},
			{tap.KeyHeader, v.tapKey}, {tap.VMHeader, strconv.FormatUint(v.heap.id, 16)},
		},
	}
	v.tappers = append(v.tappers, x)
	return x
}

// leave hands what waits to the newest other tapper: the host ends a configuration that is not in force any more with
// its last stream, whose end waits then. It reports whether the host may end the configuration now: that would cut a
// call off that is under way.
func (t *tapper) leave() bool {
	v := t.plugin.vm
	v.tappers = slices.DeleteFunc(v.tappers, func(other *tapper) bool { return other == t })
	if n := len(v.tappers); n > 0 {
		v.tappers[n-1].takeOver(&t.outbox)
	} else {
		for _, block := range t.waiting {
			t.blocks.give(block)
		}
	}
	t.waiting, t.leaving = nil, t.sent != nil
	return !t.leaving
}

// opens reports whether a client's key is the right one. The time that it takes tells nothing about the right one but
// its length.
func (t *tapper) opens(key string) bool {
	if len(key) != len(t.key) {
		return false
	}
	differences := byte(0)
	for i := range len(key) {
		differences |= key[i] ^ t.key[i]
	}
	return differences == 0
}

// wake makes the timer send soon what a stream has added, unless an answer does so.
func (t *tapper) wake() {
	if !t.woken && t.sent == nil && !t.failed {
		t.woken = check("set tick", proxywasm.SetTickPeriodMilliSeconds(wokenMS))
	}
}

// tick sends what waits. It reports whether the timer's other duties are due too.
func (t *tapper) tick(at int64) (due bool) {
	due = t.due(at)
	if t.woken {
		t.woken = !check("set tick", proxywasm.SetTickPeriodMilliSeconds(tickMS))
	}
	t.send()
	return due
}

// due reports whether the timer's other duties are due. It must be called once for each tick.
func (t *tapper) due(at int64) bool {
	early := t.woken && at < t.dueAt && at >= t.dueAt-tickMS // a clock that was set back says nothing
	if !early {
		t.dueAt = at + tickMS
	}
	return !early
}

func (t *tapper) send() {
	if t.sent != nil || t.empty() {
		return
	}
	t.sent = t.next()
	if _, err := proxywasm.DispatchHttpCall(t.cluster, t.headers, t.sent, nil, callMS, t.answered); err != nil {
		t.lost("the call failed: " + err.Error())
	}
}

// answered takes the recorder's answer, or the proxy's in its place.
func (t *tapper) answered(int, int, int) {
	headers, err := readCalloutHeaders()
	status := ""
	if err == nil {
		status, _ = find(headers, ":status")
	}
	if len(status) != 3 || status[0] != '2' {
		t.lost("the answer's status is " + strconv.Quote(status))
		return
	}
	t.blocks.give(t.sent)
	t.sent, t.failed = nil, false
	t.send()
	t.left()
}

// left lets the host end the configuration, if it waits for that.
func (t *tapper) left() {
	if t.leaving {
		t.leaving = false
		proxywasm.PluginDone()
	}
}

// lost counts the frames of the call that has failed. The next call waits for the timer.
func (t *tapper) lost(reason string) {
	counts := map[uint32]int{}
	each(t.sent, func(f *tap.Frame) { counts[f.Stream]++ })
	for _, s := range t.plugin.streams {
		if s.tapped != nil {
			s.tapped.lost += counts[s.id]
			delete(counts, s.id)
		}
	}
	t.addLost(counts)
	t.blocks.give(t.sent)
	t.sent, t.failed = nil, true
	if at := now(); at >= t.quietUntil {
		t.quietUntil = at + quietMS
		proxywasm.LogWarn("harmony: tap: the recorder (" + t.cluster + ") does not take what requests are tapped for, " +
			"which is lost: " + reason)
	}
	t.left()
}
