// Command bench measures the cost of the filter on the real Envoy, side by side in one run. It sends the same streams
// through Envoy with the filter, with an empty filter, and without a filter.
//
// It knows how to load a gateway and read a process's clock. It does not know what the answers mean.
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
	flag.StringVar(&o.empty, "empty", "dist/empty-filter.wasm", "the empty filter's module")
	flag.StringVar(&o.beside, "beside", "", "another build of the filter, to be measured in the same rounds")
	flag.IntVar(&o.rounds, "rounds", 3, "how often each variant takes its turn")
	flag.IntVar(&o.streams, "streams", 50, "streams at once")
	flag.IntVar(&o.tokens, "tokens", 1000, "tokens in a stream")
	flag.Float64Var(&o.rate, "rate", 100, "tokens per second in a stream")
	flag.IntVar(&o.requests, "requests", 200, "requests one after the other, for the time to the first byte")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	empty, beside                     string
	rounds, streams, tokens, requests int
	rate                              float64
}

// result holds the measurements of one variant's rounds.
type result struct {
	firstByte []time.Duration
	// cpu is Envoy's processor time for a million streamed tokens, in seconds, one for each round.
	cpu []float64
}

func run(o options) error {
	server, err := newServer(o)
	if err != nil {
		return err
	}
	defer server.close()
	variants, err := startVariants(o, server)
	if err != nil {
		return err
	}
	defer func() {
		for _, v := range variants {
			v.host.Stop()
		}
	}()
	results := make([]result, len(variants))
	for round := range o.rounds {
		for i, v := range variants {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, v.name)
			if err := v.measure(o, &results[i]); err != nil {
				return fmt.Errorf("%s: %w", v.name, err)
			}
		}
	}
	print(o, variants, results)
	return nil
}

func print(o options, variants []*variant, results []result) {
	fmt.Printf("%d streams at once, %d tokens each at %.0f tokens/s, one token in a chunk, %d rounds; Envoy with one "+
		"worker.\n"+
		"The server itself takes %.0f ms to its first token.\n\n", o.streams, o.tokens, o.rate, o.rounds, 1000/o.rate)
	fmt.Printf("%-14s %14s %14s %36s %8s\n", "", "first byte", "first byte", "Envoy's CPU seconds", "ratio")
	fmt.Printf("%-14s %14s %14s %36s %8s\n", "Envoy with", "median", "99 %", "per 1,000,000 tokens (min…max)", "to none")
	base := median(results[0].cpu)
	for i, v := range variants {
		r := &results[i]
		slices.Sort(r.firstByte)
		slices.Sort(r.cpu)
		fmt.Printf("%-14s %11.2f ms %11.2f ms %15.1f (%6.1f … %6.1f) %13.2f\n", v.name,
			milliseconds(r.firstByte[len(r.firstByte)/2]), milliseconds(r.firstByte[len(r.firstByte)*99/100]),
			median(r.cpu), r.cpu[0], r.cpu[len(r.cpu)-1], median(r.cpu)/base)
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
