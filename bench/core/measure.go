package main

import (
	"errors"
	"fmt"
	"slices"
)

// column is a peer, or our core in one of its hosts.
type column struct {
	name   string
	ours   bool
	groups []string
	start  func() (worker, error)
}

// cell is the result of one column in one row.
type cell struct {
	// ns is the processor time per unit of work in nanoseconds, one value for each round.
	ns []float64
	// failure replaces the number if there is none; reason explains it.
	failure, reason string
	// probe and outcomes are the results to compare.
	probe    outcome
	outcomes []outcome
	loaded   loaded
	filter   *filterMemory // only for columns that are filters
}

// requestTime is the processor time that a request should take, in nanoseconds. It is long enough for the clock's
// resolution and short enough that the machine's speed changes little while the columns take turns.
const requestTime = 60e6

// measure runs every column once per round, each in a process of its own that has worked on no other row.
func measure(r *row, columns []column, rounds int) (map[string]*cell, error) {
	cells := map[string]*cell{}
	workers := map[string]worker{}
	repeat := map[string]int{}
	defer func() {
		for _, w := range workers {
			w.stop()
		}
	}()
	for _, c := range columns {
		w, err := c.start()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		workers[c.name] = w
		cells[c.name] = &cell{loaded: w.loaded()}
		if f, ok := w.(*envoyWorker); ok {
			cells[c.name].filter = &f.memory
		}
		repeat[c.name], err = cells[c.name].prepare(r, c, w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for round := range rounds {
		for _, c := range columns {
			cell := cells[c.name]
			if cell.failure != "" {
				continue
			}
			t := request{Op: r.operation(c), File: r.files[round%len(r.files)], Repeat: repeat[c.name]}
			if r.warm {
				t.Warm = r.first
			}
			o, err := workers[c.name].run(t)
			if err != nil {
				if err := cell.recordFailure(err, "at full length"); err != nil {
					return nil, fmt.Errorf("%s: %w", c.name, err)
				}
				continue
			}
			cell.ns = append(cell.ns, float64(o.CPU)/float64(repeat[c.name])/r.units)
			cell.outcomes = append(cell.outcomes, o)
		}
	}
	return cells, nil
}

func (r *row) operation(c column) string {
	if c.ours && r.ours != "" {
		return r.ours
	}
	return r.op
}

// prepare finds how often a request must repeat the work, and which columns must not run at full length.
func (c *cell) prepare(r *row, col column, w worker) (repeat int, err error) {
	t := request{Op: r.operation(col), File: r.first, Repeat: 1}
	if len(r.probes) > 0 {
		if err := c.scale(r, t, w); err != nil || c.failure != "" {
			return 0, err
		}
	}
	// Twice, because the first run includes one-time initialisation.
	for range 2 {
		o, err := w.run(t)
		if err != nil {
			return 0, c.recordFailure(err, "at full length")
		}
		repeat = int(max(1, requestTime/float64(max(o.CPU, 1))))
	}
	if r.once {
		repeat = 1
	}
	return repeat, nil
}

// scale checks whether a column takes about four times as long for twice the input, so that the full input would exceed
// the deadline. If so, it sets c.failure to "quadratic".
func (c *cell) scale(r *row, t request, w worker) error {
	var took [2]float64
	for i, file := range r.probes {
		t.File = file
		var all []float64
		for range 3 {
			o, err := w.run(t)
			if err != nil {
				return c.recordFailure(err, fmt.Sprintf("at %d bytes", smallProbe<<i))
			}
			all = append(all, float64(o.CPU))
			c.probe = o
		}
		took[i] = slices.Min(all)
	}
	const longer = corpusSize / (2 * smallProbe)
	if took[1] > 3*took[0] && took[1]*longer*longer > float64(deadline) {
		c.failure = "quadratic"
		c.reason = fmt.Sprintf("%d bytes take %.1f ms, %d bytes %.1f ms", smallProbe, took[0]/1e6, 2*smallProbe, took[1]/1e6)
	}
	return nil
}

// recordFailure records a worker's failure in the cell. It returns an error that is not the worker's fault.
func (c *cell) recordFailure(err error, where string) error {
	for _, known := range []error{errDies, errPanics, errSlow} {
		if errors.Is(err, known) {
			c.failure, c.reason = known.Error(), where+": "+err.Error()
			return nil
		}
	}
	return err
}
