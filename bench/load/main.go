// Command load measures what weights by load do to the time to the first token, and to how even the servers' load is:
// real Envoys, a control plane with weights and without, and simulated servers that are not all alike.
//
// It knows how to burden gateways. It does not know how weights are made.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

type options struct {
	envoys, servers, slots int
	utilization            float64
	duration               time.Duration
	policies               string
}

func main() {
	var o options
	flag.IntVar(&o.envoys, "envoys", 3, "Envoys, which do not know of each other's requests")
	flag.IntVar(&o.servers, "servers", 8, "servers of the pool")
	flag.IntVar(&o.slots, "slots", 8, "requests that a server works on at once")
	flag.Float64Var(&o.utilization, "utilization", 0.7, "part of the servers' capacity that is used")
	flag.DurationVar(&o.duration, "time", 30*time.Second, "how long each cell of the table is measured")
	flag.StringVar(&o.policies, "policies", "least_request,round_robin", "the policies to measure")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-load:", err)
		os.Exit(1)
	}
}

// scene is what servers differ in.
type scene struct {
	name string
	// slow reports whether a server is half as fast as the others, and shared whether others use half of it.
	slow, shared func(server int) bool
}

func none(int) bool       { return false }
func firstTwo(i int) bool { return i < 2 }

func run(o options) error {
	fmt.Printf("%d Envoys, %d servers with %d slots, %.0f %% of the capacity used, %s each. Answers take a second, or two "+
		"from a slow server. The load of a server is its running and waiting requests.\n\n", o.envoys, o.servers, o.slots,
		100*o.utilization, o.duration)
	fmt.Printf("%-28s %-14s %-8s %9s %9s %9s %12s %9s\n", "servers", "policy", "weights", "p50", "p95", "p99",
		"max ÷ mean", "requests")
	for _, s := range []scene{
		{"all alike", none, none}, {"two are half as fast", firstTwo, none}, {"others use half of two", none, firstTwo},
	} {
		for _, policy := range strings.Split(o.policies, ",") {
			for _, weights := range []bool{false, true} {
				r, err := measure(o, s, policy, weights)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", s.name, policy, err)
				}
				word := map[bool]string{false: "no", true: "yes"}[weights]
				fmt.Printf("%-28s %-14s %-8s %6.0f ms %6.0f ms %6.0f ms %12.2f %9d\n", s.name, policy, word, r.part(0.5),
					r.part(0.95), r.part(0.99), r.spread, len(r.first))
			}
		}
	}
	return nil
}

// result is what was measured in one cell.
type result struct {
	first  []time.Duration // times to the first token
	spread float64
}

// part returns the time in milliseconds that this part of the requests is faster than.
func (r *result) part(p float64) float64 {
	if len(r.first) == 0 {
		return 0
	}
	slices.SortFunc(r.first, func(a, b time.Duration) int { return cmp.Compare(a, b) })
	return float64(r.first[int(p*float64(len(r.first)-1))].Microseconds()) / 1000
}
