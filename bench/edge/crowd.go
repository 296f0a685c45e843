package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// crowd is an Envoy with many workers, and many streams that have begun and say nothing.
type crowd struct{ workers, streams int }

// parseCrowds reads sizes such as 1x1000,64x10000. They show how start and memory grow. An Envoy with more workers than
// this machine has cores needs the memory and the CPU that it needs on a larger one, but not the time.
func parseCrowds(text string) ([]crowd, error) {
	var all []crowd
	for one := range strings.SplitSeq(text, ",") {
		var c crowd
		if n, err := fmt.Sscanf(one, "%dx%d", &c.workers, &c.streams); n < 2 || c.workers < 1 || c.streams < 1 {
			return nil, fmt.Errorf("%q is not a size such as 2x1000 for 2 workers and 1000 streams: %w", one, err)
		}
		all = append(all, c)
	}
	return all, nil
}

// load returns the load of this size.
func (c crowd) load() load {
	return load{
		name: fmt.Sprintf("%d × %d", c.workers, c.streams), asks: []ask{small},
		applies: func(v *variant) bool { return v.name == plain || v.name == "chat" },
		metrics: []metric{startCPU, resident, vmMemory, held, vmsHeld},
		about: fmt.Sprintf("workers: %d. Streams over %s that have begun and say nothing: %d", c.workers, c.protocol(),
			c.streams),
		measure: func(ctx context.Context, b *bench, v *variant) (sample, error) { return b.crowd(ctx, v, c) },
	}
}

// crowdsPage returns a page of documentation with the tables.
func crowdsPage(tables string) string {
	return fmt.Sprintf("# Workers and streams\n\n"+
		"`make bench-workers` has written this page, which [capacity](../capacity.md) is computed from. It ran on %s,\n"+
		"%s. The memory is the process's. It is read when Envoy serves, and again with all the\n"+
		"streams, each of which then gets its whole answer.\n\n%s",
		time.Now().UTC().Format(time.DateOnly), lab.Machine(), strings.TrimSuffix(tables, "\n"))
}

// maxConnections is from which number of streams on they share connections: a process has only so many files.
const maxConnections = 5000

func (c crowd) multiplexed() bool { return c.streams > maxConnections }

func (c crowd) protocol() string {
	if c.multiplexed() {
		return "HTTP/2"
	}
	return "HTTP/1.1"
}

// streamsPerSecond is how soon the streams of a crowd begin.
const streamsPerSecond = 1000

// crowd measures a gateway of the variant's with so many workers and streams. Each stream must get its whole answer.
func (b *bench) crowd(ctx context.Context, v *variant, c crowd) (sample, error) {
	t, s, err := b.started(v, c.workers)
	if err != nil {
		return nil, err
	}
	defer t.to.stop()
	defer b.client.http2.CloseIdleConnections()
	hold := make(chan struct{})
	ramp := time.Duration(c.streams) * time.Second / streamsPerSecond
	run := t.beginAll(ctx, c.streams, ramp,
		order{v: v, to: t.to, ask: small, hold: hold, multiplexed: c.multiplexed()})
	err = run.begun()
	if err == nil {
		full := sample{}
		err = t.memory(full)
		s[held] = full[resident]
		if vms, ok := full[vmMemory]; ok {
			s[vmsHeld] = vms
		}
	}
	close(hold)
	_, failed := run.end()
	return s, errors.Join(err, failed)
}
