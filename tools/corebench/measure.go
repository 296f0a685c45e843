package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
)

// column is a peer, or ours in one of its hosts.
type column struct {
	name   string
	ours   bool
	groups []string
	start  func() (worker, error)
}

// cell is what one column did in one row.
type cell struct {
	// ns is the processor time for a unit of work, one value for each round.
	ns []float64
	// word stands where there is no number, and why says what was measured.
	word, why string
	// probe and outcomes are what came out, to be compared.
	probe    outcome
	outcomes []outcome
	loaded   loaded
	filter   *filterMemory // of a column that is a filter
}

// turnTime is the processor time that a turn should take, in nanoseconds: enough for the clock, little enough that the
// columns take turns while the machine is in one mood.
const turnTime = 60e6

// measure lets every column take its turn in every round, each in a process of its own that has seen no other row.
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
		if f, ok := w.(*inEnvoy); ok {
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
			if cell.word != "" {
				continue
			}
			t := turn{Op: r.opOf(c), File: r.files[round%len(r.files)], Repeat: repeat[c.name]}
			if r.warm {
				t.Warm = r.first
			}
			o, err := workers[c.name].turn(t)
			if err != nil {
				if err := cell.give(err, "at full length"); err != nil {
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

func (r *row) opOf(c column) string {
	if c.ours && r.ours != "" {
		return r.ours
	}
	return r.op
}

// prepare finds out how often a turn does the work, and who must not be asked to at full length.
func (c *cell) prepare(r *row, col column, w worker) (repeat int, err error) {
	t := turn{Op: r.opOf(col), File: r.first, Repeat: 1}
	if len(r.probes) > 0 {
		if err := c.scale(r, t, w); err != nil || c.word != "" {
			return 0, err
		}
	}
	// Twice: the first time pays for what is made at first use.
	for range 2 {
		o, err := w.turn(t)
		if err != nil {
			return 0, c.give(err, "at full length")
		}
		repeat = int(max(1, turnTime/float64(max(o.CPU, 1))))
	}
	if r.once {
		repeat = 1
	}
	return repeat, nil
}

// scale looks whether twice the input takes four times as long, so that the long one would outlast the deadline.
func (c *cell) scale(r *row, t turn, w worker) error {
	var took [2]float64
	for i, file := range r.probes {
		t.File = file
		var all []float64
		for range 3 {
			o, err := w.turn(t)
			if err != nil {
				return c.give(err, fmt.Sprintf("at %d bytes", smallProbe<<i))
			}
			all = append(all, float64(o.CPU))
			c.probe = o
		}
		took[i] = slices.Min(all)
	}
	const longer = corpusSize / (2 * smallProbe)
	if took[1] > 3*took[0] && took[1]*longer*longer > float64(deadline) {
		c.word = "quadratic"
		c.why = fmt.Sprintf("%d bytes take %.1f ms, %d bytes %.1f ms", smallProbe, took[0]/1e6, 2*smallProbe, took[1]/1e6)
	}
	return nil
}

// give writes down a worker's failure; an error that says nothing of the worker comes back.
func (c *cell) give(err error, where string) error {
	for _, known := range []error{errDies, errPanics, errSlow} {
		if errors.Is(err, known) {
			c.word, c.why = known.Error(), where+": "+err.Error()
			return nil
		}
	}
	return err
}

// progress tells a person that waits.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
