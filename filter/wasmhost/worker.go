package wasmhost

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Worker is one thread of the proxy with its own VM. It may be used from several goroutines. It does its work one call
// at a time.
type Worker struct {
	host *Host

	mu     sync.Mutex
	vm     *vm
	closed bool
	loaded time.Time
	open   map[*Stream]bool
	// changed are the streams with new events, whose [StreamOptions.Changed] has not been called yet.
	changed map[*Stream]bool
	// afterUnlock are the functions to call when the lock is free.
	afterUnlock []func()
	// callouts are the callouts under way, with the VM that made them. That VM may be gone when they end.
	callouts map[uint32]*vm
	nextCall uint32
	reloads  int
	failures int
	backoffs int
}

// ErrRefused is wrapped by the error for a filter that refused its configuration or could not be started.
var ErrRefused = errors.New("wasmhost: the filter did not start")

// NewWorker starts a VM. Its error wraps [ErrRefused] if the filter refused to start.
func (h *Host) NewWorker() (*Worker, error) {
	w := &Worker{host: h, open: map[*Stream]bool{}, changed: map[*Stream]bool{}, callouts: map[uint32]*vm{}}
	w.enter()
	defer w.leave()
	if err := w.load(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.workers = append(h.workers, w)
	return w, nil
}

// enter and leave surround every operation on a worker. leave first frees the lock, then notifies the streams' drivers
// and runs the work for other workers.
func (w *Worker) enter() { w.mu.Lock() }

func (w *Worker) leave() {
	var notify []func()
	for s := range w.changed {
		if s.options.Changed != nil {
			notify = append(notify, s.options.Changed)
		}
	}
	clear(w.changed)
	afterwards := w.afterUnlock
	w.afterUnlock = nil
	w.mu.Unlock()
	for _, f := range notify {
		f()
	}
	for _, f := range afterwards {
		f()
	}
}

func (w *Worker) load() error {
	w.loaded = w.host.options.Now()
	v, err := newVM(w)
	if err != nil {
		return err
	}
	if w.vm != nil {
		w.vm.close()
	}
	w.vm = v
	return nil
}

// ready ensures a VM for the next stream and reports whether there is one. A failed VM is replaced if the policy allows
// it and the back-off has passed, counted from the last load.
func (w *Worker) ready() bool {
	switch {
	case w.closed || w.vm == nil:
		return false
	case !w.vm.failed:
		return true
	case w.host.plugin.FailurePolicy != FailReload:
		return false
	}
	interval := w.host.plugin.ReloadInterval
	// Envoy's jitter: between one and one and a half intervals.
	if halved := int64(interval / 2); halved > 0 {
		interval += time.Duration(rand.Int64N(halved))
	}
	if w.host.options.Now().Sub(w.loaded) < interval {
		w.backoffs++
		return false
	}
	if err := w.load(); err != nil {
		w.failures++
		w.host.log(Error, "the filter was not reloaded: %v", err)
		return false
	}
	w.reloads++
	return true
}

// Stats are a worker's counts.
type Stats struct {
	// Streams is the number of open streams.
	Streams int
	// Failed reports whether the VM has failed and not been replaced yet.
	Failed bool
	// Reloads is how often a new VM has replaced a failed one. Failures is how often the new VM did not start, and
	// Backoffs how often the back-off prevented a try.
	Reloads, Failures, Backoffs int
	// MemoryBytes is the size of the VM's memory.
	MemoryBytes int
}

// Stats returns the worker's counts.
func (w *Worker) Stats() Stats {
	w.enter()
	defer w.leave()
	out := Stats{Streams: len(w.open), Reloads: w.reloads, Failures: w.failures, Backoffs: w.backoffs}
	if w.vm != nil {
		out.Failed = w.vm.failed
		if !w.vm.failed && !w.closed {
			out.MemoryBytes = int(w.vm.memory.Size())
		}
	}
	return out
}

// NextTick returns when [Worker.Tick] should be called next. The second result is false if no tick is planned.
func (w *Worker) NextTick() (time.Time, bool) {
	w.enter()
	defer w.leave()
	if w.closed || w.vm == nil || w.vm.failed || w.vm.tick == 0 {
		return time.Time{}, false
	}
	return w.vm.next, true
}

// ticking reports to the driver that the time of the next tick has changed.
func (w *Worker) ticking() {
	if f := w.host.options.Ticking; f != nil {
		w.afterUnlock = append(w.afterUnlock, func() { f(w) })
	}
}

// Tick calls the filter's tick callback if it is due.
func (w *Worker) Tick() {
	w.enter()
	defer w.leave()
	now := w.host.options.Now()
	if v := w.vm; !w.closed && v != nil && !v.failed && v.tick > 0 && !now.Before(v.next) {
		v.next = now.Add(v.tick)
		v.call(nil, "proxy_on_tick", rootID)
	}
}

// Close ends the VM. No callback runs after it.
func (w *Worker) Close() {
	defer w.host.forget(w)
	w.enter()
	defer w.leave()
	if w.closed {
		return
	}
	w.closed = true
	if w.vm != nil {
		w.vm.failed = true
		w.vm.close()
	}
}
