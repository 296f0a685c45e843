// Command up measures how long harmony up takes from its start to the first token of the first answer, with Envoy and
// without, beside an older program. The programs take turns. The inference server is simulated, and runs all the time.
//
// It knows programs, and what they print. It does not know why a start takes time.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/command"
	"github.com/harmonyedge/harmonyedge/bench/stats"
	"github.com/harmonyedge/harmonyedge/sim"
)

type options struct {
	rounds         int
	beside, hosts  string
	program, envoy string
	goal           time.Duration
}

func main() {
	o := options{program: "dist/harmony", envoy: os.Getenv("ENVOY")}
	flag.IntVar(&o.rounds, "rounds", 7, "how often each variant starts")
	flag.StringVar(&o.beside, "beside", "", "a `folder` with an older harmony and its harmony-filter.wasm")
	flag.StringVar(&o.hosts, "hosts", "envoy,wazero", "the hosts to measure")
	flag.DurationVar(&o.goal, "goal", 0, "fail if the median with Envoy is longer; 0 is no goal")
	command.Main("bench-up", func(ctx context.Context) error { return run(ctx, o) })
}

// variant is a program and the way in which it is started.
type variant struct {
	name, host, program string
	// server returns the flags that name the server. The module lies beside the program.
	server func(url string) []string
}

// byURL names the server only. Older programs want the kind and the model as well.
func byURL(url string) []string { return []string{url} }

func byFlags(url string) []string {
	return []string{"--model", "gpt-oss-120b", "--backend", "vllm=" + url}
}

func (o *options) variants(host string) []*variant {
	all := []*variant{{"harmony up URL", host, o.program, byURL}, {"harmony up --backend", host, o.program, byFlags}}
	if o.beside != "" {
		older := filepath.Join(o.beside, "harmony")
		all = append(all, &variant{"the older harmony up --backend", host, older, byFlags})
	}
	return all
}

// sample is one start: from the start of the program to the first token, and the processor time of the program and of
// its Envoy until then.
type sample struct{ took, own, envoy time.Duration }

func run(ctx context.Context, o options) error {
	server := sim.New(sim.Options{TokensPerSecond: 1000})
	defer server.Close()
	url, err := server.Start("127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("From the start of the program to the first token of an answer. Medians of %d starts, in turns; the least in "+
		"brackets.\n\n| host | command | time | CPU of harmony | CPU of Envoy |\n|---|---|---|---|---|\n", o.rounds)
	for _, host := range split(o.hosts) {
		variants := o.variants(host)
		samples := make([][]sample, len(variants))
		for round := range o.rounds + 1 {
			for i, v := range variants {
				one, err := v.start(ctx, &o, url)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", host, v.name, err)
				}
				if round > 0 { // the first one fills caches
					samples[i] = append(samples[i], one)
				}
			}
			command.Progress("%s: round %d of %d", host, round, o.rounds)
		}
		for i, v := range variants {
			fmt.Printf("| %s | %s | %s | %s | %s |\n", host, v.name, show(samples[i], took), show(samples[i], own),
				show(samples[i], ofEnvoy))
		}
		if median := stats.Median(figures(samples[0], took)); o.goal > 0 && median > o.goal.Seconds() && host == "envoy" {
			return fmt.Errorf("with Envoy the first token came after %.2f s, and %s is the goal", median, o.goal)
		}
	}
	return nil
}

func took(s sample) time.Duration    { return s.took }
func own(s sample) time.Duration     { return s.own }
func ofEnvoy(s sample) time.Duration { return s.envoy }

func figures(all []sample, of func(sample) time.Duration) []float64 {
	var f []float64
	for _, s := range all {
		f = append(f, of(s).Seconds())
	}
	return f
}

func show(all []sample, of func(sample) time.Duration) string {
	f := figures(all, of)
	if slices.Max(f) == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f s (%.2f)", stats.Median(f), slices.MinFunc(f, cmp.Compare[float64]))
}
