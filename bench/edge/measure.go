package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/stats"
	"github.com/harmonyedge/harmonyedge/e2e/hosts"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// turn is a variant under a load.
type turn struct {
	*bench
	v  *variant
	to *gateway
}

// streams runs n paced streams, and measures from when all have begun.
func (t *turn) streams(ctx context.Context, a ask, n int) (sample, error) {
	run := t.beginStreams(ctx, a, n)
	if err := run.begun(); err != nil {
		return nil, err
	}
	tokens, from := t.tokens(), sinceStart()
	before, err := lab.ProcessTime(t.to.pid)
	if err != nil {
		return nil, err
	}
	time.Sleep(t.options.window)
	after, err := lab.ProcessTime(t.to.pid)
	if err != nil {
		return nil, err
	}
	tokens, to := t.tokens()-tokens, sinceStart()
	s := sample{cpu: microseconds(after-before) / float64(tokens)}
	if err := t.memory(s); err != nil {
		return nil, err
	}
	all, err := run.end()
	if err != nil {
		return nil, err
	}
	addDelays(s, all, from, to)
	return s, nil
}

// tokens returns how many tokens have come so far, from our servers or from vLLM's front end.
func (t *turn) tokens() int64 {
	if t.v.through == rustFrontEnd {
		return t.client.received.Load()
	}
	return t.servers.sent.Load()
}

// streamsRun are streams that run.
type streamsRun struct {
	open     sync.WaitGroup // until all have begun
	done     sync.WaitGroup
	cancel   context.CancelFunc
	mu       sync.Mutex
	readings []reading
	err      error
}

// beginStreams begins n streams at the options' rate, at random times of the ramp.
func (t *turn) beginStreams(ctx context.Context, a ask, n int) *streamsRun {
	if t.v.through == rustFrontEnd {
		t.gateways.setEngine(a.words, t.options.rate)
	}
	return t.beginAll(ctx, n, t.options.ramp()/2, order{v: t.v, to: t.to, ask: a,
		interval: time.Duration(float64(time.Second) / t.options.rate)})
}

func (t *turn) beginAll(ctx context.Context, n int, ramp time.Duration, o order) *streamsRun {
	ctx, cancel := context.WithCancel(ctx)
	run := &streamsRun{cancel: cancel}
	run.open.Add(n)
	for range n {
		wait := time.Duration(rand.Int64N(int64(ramp)))
		run.done.Go(func() {
			begun := sync.OnceFunc(run.open.Done)
			defer begun()
			time.Sleep(wait)
			mine := o
			mine.begun = begun
			r, err := t.client.send(ctx, mine)
			run.mu.Lock()
			defer run.mu.Unlock()
			run.readings = append(run.readings, r)
			if err != nil && run.err == nil {
				run.err = err
				cancel()
			}
		})
	}
	return run
}

// begun waits until every stream has its first word.
func (r *streamsRun) begun() error {
	r.open.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// end waits for the streams' ends.
func (r *streamsRun) end() ([]reading, error) {
	r.done.Wait()
	r.cancel()
	return r.readings, r.err
}

// addDelays adds the delays of what was read between two times.
func addDelays(s sample, all []reading, from, to time.Duration) {
	var delays []float64
	for _, r := range all {
		for i, at := range r.arrivals {
			if i < len(r.delays) && at >= from && at <= to {
				delays = append(delays, r.delays[i].Seconds()*1000)
			}
		}
	}
	if len(delays) > 0 {
		s[delay50], s[delay99] = stats.Quantile(delays, 0.5), stats.Quantile(delays, 0.99)
		s[delay999] = stats.Quantile(delays, 0.999)
	}
}

// requests sends n requests by so many clients. CPU is divided by the units of all.
func (t *turn) requests(ctx context.Context, a ask, n, clients, units int) (sample, error) {
	if t.v.through == rustFrontEnd {
		t.gateways.setEngine(a.words, 0)
	}
	before, err := lab.ProcessTime(t.to.pid)
	if err != nil {
		return nil, err
	}
	var (
		wait  sync.WaitGroup
		mu    sync.Mutex
		left  = n
		first []float64
		fails error
	)
	for range clients {
		wait.Go(func() {
			for {
				mu.Lock()
				more := left > 0 && fails == nil
				left--
				mu.Unlock()
				if !more {
					return
				}
				r, err := t.client.send(ctx, order{v: t.v, to: t.to, ask: a})
				mu.Lock()
				first = append(first, r.firstByte.Seconds()*1000)
				fails = errors.Join(fails, err)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if fails != nil {
		return nil, fails
	}
	after, err := lab.ProcessTime(t.to.pid)
	if err != nil {
		return nil, err
	}
	s := sample{cpu: microseconds(after-before) / float64(n*units), firstByte: stats.Median(first)}
	return s, t.memory(s)
}

// neighbours runs paced streams, and long prompts beside them one after the other.
func (t *turn) neighbours(ctx context.Context, a ask) (sample, error) {
	run := t.beginStreams(ctx, a, neighbours)
	if err := run.begun(); err != nil {
		return nil, err
	}
	from := sinceStart()
	for sinceStart() < from+t.options.window {
		if _, err := t.client.send(ctx, order{v: t.v, to: t.to, ask: longPrompt}); err != nil {
			return nil, err
		}
	}
	to := sinceStart()
	all, err := run.end()
	if err != nil {
		return nil, err
	}
	s := sample{}
	addDelays(s, all, from, to)
	return s, nil
}

// idle opens n streams that fall silent after the first word.
func (t *turn) idle(ctx context.Context, n int, window time.Duration) (sample, error) {
	hold := make(chan struct{})
	run := t.beginAll(ctx, n, t.options.ramp()/2, order{v: t.v, to: t.to, ask: small, hold: hold})
	err := run.begun()
	s := sample{}
	if err == nil {
		time.Sleep(t.options.ramp() / 2) // what began last comes to rest
		err = t.rest(s, n, window)
	}
	close(hold)
	_, failed := run.end()
	return s, errors.Join(err, failed)
}

// rest measures a gateway whose streams are silent.
func (t *turn) rest(s sample, n int, window time.Duration) error {
	before, err := lab.ProcessTime(t.to.pid)
	if err != nil {
		return err
	}
	time.Sleep(window)
	after, err := lab.ProcessTime(t.to.pid)
	if err != nil {
		return err
	}
	s[cpu] = microseconds(after-before) / float64(n) / window.Seconds()
	return t.memory(s)
}

// memory adds the memory of the process, and what its VMs have collected. Not every process has VMs.
func (t *turn) memory(s sample) error {
	kib, err := hosts.ResidentKiB(t.to.pid)
	if err != nil {
		return err
	}
	s[resident] = float64(kib) / 1024
	if t.v.through == plain || t.v.through == rustFrontEnd {
		return nil
	}
	m, err := hosts.MemoryOf(t.to.pid)
	if err != nil {
		return err
	}
	s[vmMemory] = float64(m.VMs) / (1 << 20)
	if t.v.through == constant {
		return nil
	}
	count, took, err := hosts.Collections(t.to.process)
	s[collections], s[longest] = float64(count), took.Seconds()*1000
	return err
}

// start starts another gateway of the variant's, and stops it.
func (b *bench) start(v *variant) (sample, error) {
	t, s, err := b.started(v, 1)
	if err == nil {
		t.to.stop()
	}
	return s, err
}

// started starts another gateway of the variant's, and measures the start.
func (b *bench) started(v *variant, workers int) (*turn, sample, error) {
	begin := time.Now()
	g, err := b.gateways.startEnvoy(v.through, workers)
	if err != nil {
		return nil, nil, err
	}
	t, s := &turn{b, v, g}, sample{ready: time.Since(begin).Seconds() * 1000}
	used, err := lab.ProcessTime(g.pid)
	if err == nil {
		s[startCPU] = microseconds(used) / 1000
		err = t.memory(s)
	}
	if err != nil {
		g.stop()
		return nil, nil, err
	}
	return t, s, nil
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
