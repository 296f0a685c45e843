// Command controlplane measures the cost of a configuration for the control plane, and how soon two real Envoys have
// it: for a number of models and servers, for ten times that number, and for a pool with a long servers file. Then it
// measures what it costs to follow the moving loads of many servers.
//
// It knows how to start a control plane and read its metrics. It does not know how the control plane works.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"time"
)

func main() {
	var o options
	flag.IntVar(&o.models, "models", 20, "models, each with a pool of its own, in the smaller configuration")
	flag.IntVar(&o.servers, "servers", 10, "servers of each pool")
	flag.IntVar(&o.factor, "factor", 10, "how many times as many the larger configuration has")
	flag.IntVar(&o.rounds, "rounds", 15, "changes of each kind")
	flag.IntVar(&o.lines, "lines", 10_000, "lines of the servers file")
	flag.IntVar(&o.loadModels, "load-models", 500,
		"models, each with a pool of its own, whose servers' loads are followed")
	flag.IntVar(&o.loadServers, "load-servers", 20, "servers of each of these pools")
	flag.DurationVar(&o.loadTime, "load-time", 2*time.Minute, "how long their loads are followed; 0 is not at all")
	flag.IntVar(&o.page, "page", 16<<10, "bytes of each server's page of metrics")
	flag.IntVar(&o.workers, "workers", 1, "worker threads of each Envoy")
	onlyLoads := flag.Bool("only-loads", false, "measure nothing but the loads")
	flag.Parse()
	if *onlyLoads {
		o.models = 0
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-controlplane:", err)
		os.Exit(1)
	}
}

type options struct {
	models, servers, factor, rounds, lines, workers int
	loadModels, loadServers, page                   int
	loadTime                                        time.Duration
}

// row is one measured quantity, for both sizes.
type row struct {
	what, unit string
	values     [2]float64
}

func run(o options) error {
	if o.models > 0 {
		if err := runChanges(o); err != nil {
			return err
		}
	}
	if o.loadTime == 0 {
		return nil
	}
	servers := o.loadModels * o.loadServers
	fmt.Fprintf(os.Stderr, "loads of %d servers\n", servers)
	loads, err := measureLoads(o)
	if err != nil {
		return fmt.Errorf("loads: %w", err)
	}
	fmt.Printf("\n%d models, %d servers whose loads move, for %s. A page of metrics has %d KiB.\n", o.loadModels, servers,
		o.loadTime, o.page>>10)
	fmt.Printf("%-64s %18s %18s\n", "", "nobody asks", "weights: true")
	for _, r := range loads {
		fmt.Printf("%-64s %14.1f %-3s %14.1f %-3s\n", r.what, r.values[0], r.unit, r.values[1], r.unit)
	}
	return nil
}

// runChanges measures changes of a configuration and of a servers file.
func runChanges(o options) error {
	var rows []row
	for i, models := range []int{o.models, o.models * o.factor} {
		world := &world{models: models, servers: o.servers}
		fmt.Fprintf(os.Stderr, "%d models, %d servers\n", models, models*o.servers)
		measured, err := measure(world, o)
		if err != nil {
			return fmt.Errorf("%d models: %w", models, err)
		}
		if rows == nil {
			rows = measured
		}
		for j := range measured {
			rows[j].values[i] = measured[j].values[0]
		}
	}
	fmt.Printf("Workers of each of two Envoys: %d. No servers behind the addresses, and no health checks. Medians of %d "+
		"changes of each kind.\n\n", o.workers, o.rounds)
	small, large := o.models, o.models*o.factor
	fmt.Printf("%-64s %22s %22s %8s\n", "", fmt.Sprintf("%d models", small), fmt.Sprintf("%d models", large), "")
	fmt.Printf("%-64s %22s %22s %8s\n", "", fmt.Sprintf("%d servers", small*o.servers),
		fmt.Sprintf("%d servers", large*o.servers), "growth")
	for _, r := range rows {
		fmt.Printf("%-64s %18.2f %-3s %18.2f %-3s %8.1f\n", r.what, r.values[0], r.unit, r.values[1], r.unit,
			r.values[1]/r.values[0])
	}
	fmt.Fprintf(os.Stderr, "a servers file of %d lines\n", o.lines)
	rows, err := measureList(o)
	if err != nil {
		return fmt.Errorf("a servers file of %d lines: %w", o.lines, err)
	}
	fmt.Printf("\nOne line of a servers file of %d lines changes\n", o.lines)
	for _, r := range rows {
		fmt.Printf("%-64s %18.2f %-3s\n", r.what, r.values[0], r.unit)
	}
	return nil
}

// measure takes the measurements of one size. Each is values[0] of its row.
func measure(w *world, o options) ([]row, error) {
	build, set, err := w.inProcess()
	if err != nil {
		return nil, err
	}
	p, err := startPlane(w, 5*time.Millisecond, o.workers)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	rows := []row{
		milliseconds("snapshot: all resources built", build),
		milliseconds("snapshot: checked, compared and set", set),
		milliseconds("process started until it serves Envoys", p.started),
		milliseconds("two Envoys started until both have all of it", p.joined),
	}
	for _, change := range []struct {
		what string
		make func(round int)
	}{
		{"one server takes another's place", func(round int) { w.moved = round }},
		{"a setting of the filter", func(round int) { w.identity = round }},
		{"a model and its pool come, or go", func(round int) { w.more = round % 2 }},
	} {
		var pushes, all []time.Duration
		for round := 1; round <= o.rounds; round++ {
			change.make(round)
			_, push, whole, err := p.change(p.write)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", change.what, err)
			}
			pushes, all = append(pushes, push), append(all, whole)
		}
		rows = append(rows, milliseconds(change.what+": pushed until both have it", median(pushes)),
			milliseconds("    file written until both have it", median(all)))
	}
	heap, resident, err := p.memory()
	if err != nil {
		return nil, err
	}
	return append(rows, row{what: "memory: heap in use, after all that", unit: "MiB", values: [2]float64{heap}},
		row{what: "memory: resident", unit: "MiB", values: [2]float64{resident}}), nil
}

func milliseconds(what string, d time.Duration) row {
	return row{what: what, unit: "ms", values: [2]float64{float64(d.Microseconds()) / 1000}}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
