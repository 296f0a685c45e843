// Command routing measures what the policies of a pool do: how much of the prompts the servers have in their caches, how
// long the first token takes, and how evenly the servers are used. Real Envoys with the filter play the same workloads
// on simulated servers, once for each policy.
//
// It knows Envoy, the filter and the servers from outside. It does not know how a policy chooses.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/command"
	"github.com/harmonyedge/harmonyedge/bench/stand"
	"github.com/harmonyedge/harmonyedge/bench/workload"
	"github.com/harmonyedge/harmonyedge/sim"
)

// options are the flags.
type options struct {
	workloads, policies string
	out, python, oracle string
	servers, together   int
	balance             int
	seed                uint64
	length              time.Duration
	server              sim.Options
}

func main() {
	o := options{server: sim.Options{Models: []string{model}, Keep: -1, Script: stand.Answers()}}
	flag.StringVar(&o.workloads, "workloads", ".", "measure only workloads whose name matches this `expression`")
	flag.StringVar(&o.policies, "policies", ".", "measure only policies whose name matches this `expression`")
	flag.IntVar(&o.servers, "servers", 8, "`servers` of the pool")
	flag.IntVar(&o.together, "together", 2, "how `many` policies play a workload at the same time")
	flag.IntVar(&o.balance, "max-load", 0, "the picker's --max-load, in `percent`; 0 is its default")
	flag.Uint64Var(&o.seed, "seed", 1, "`number` from which the workloads are made")
	flag.DurationVar(&o.length, "length", 30*time.Second, "how `long` new conversations come")
	flag.IntVar(&o.server.CacheBlocks, "blocks", 12288, "`blocks` in a server's cache")
	flag.IntVar(&o.server.MaxRunning, "running", 64, "`requests` in a server's batch")
	flag.Float64Var(&o.server.PrefillRate, "prefill", 4000, "`tokens` of prompts that a server computes a second")
	flag.Float64Var(&o.server.DecodeRate, "decode", 1500, "`tokens` of answers that a server computes a second")
	flag.DurationVar(&o.server.StepTime, "step", 25*time.Millisecond, "`time` of a step without tokens")
	flag.StringVar(&o.python, "python", "python3", "`program` that runs the oracle")
	flag.StringVar(&o.oracle, "oracle", "bench/routingsim/oracle.py", "the oracle, a `file`")
	flag.StringVar(&o.out, "out", "", "write routing.md and routing.svg into this `folder` too")
	command.Main("bench-routing", func(ctx context.Context) error { return run(ctx, o) })
}

// measured is a workload with what each policy came to.
type measured struct {
	*workload.Workload
	tokens  int // of all prompts
	oracle  oracleAnswer
	results map[string]result
}

func run(ctx context.Context, o options) error {
	byWorkload, err := regexp.Compile(o.workloads)
	if err != nil {
		return err
	}
	byPolicy, err := regexp.Compile(o.policies)
	if err != nil {
		return err
	}
	b := &bench{options: o}
	for _, p := range policies {
		if byPolicy.MatchString(p.name) {
			b.policies = append(b.policies, p)
		}
	}
	for _, w := range workload.All(o.seed, workload.Scale{Servers: o.servers, Length: o.length}) {
		if !byWorkload.MatchString(w.Name) {
			continue
		}
		m := &measured{Workload: w, results: map[string]result{}}
		if err := b.measure(ctx, m); err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
		b.measured = append(b.measured, m)
	}
	if len(b.policies) == 0 || len(b.measured) == 0 {
		return errors.New("no workload or no policy has such a name")
	}
	return b.report()
}

// bench is a run.
type bench struct {
	options  options
	policies []policy
	measured []*measured
}

// measure plays a workload with each policy, and asks the oracle.
func (b *bench) measure(ctx context.Context, m *measured) error {
	prompts, err := promptsOf(m.Workload)
	if err != nil {
		return err
	}
	for _, one := range prompts {
		for _, ids := range one {
			m.tokens += len(ids)
		}
	}
	var (
		mu     sync.Mutex
		failed error
		plays  sync.WaitGroup
		turns  = make(chan struct{}, max(b.options.together, 1))
	)
	for _, p := range b.policies {
		turns <- struct{}{}
		plays.Go(func() {
			played, err := b.play(ctx, m.Workload, p)
			if err == nil && played.queried != m.tokens {
				err = fmt.Errorf("the servers got prompts of %d tokens, and not of %d", played.queried, m.tokens)
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", p.name, err)
			} else {
				command.Progress("%s  %s: %s: hit rate %.1f %%", time.Now().Format(time.TimeOnly), m.Name, p.name,
					played.hitRate())
			}
			mu.Lock()
			m.results[p.name], failed = played, errors.Join(failed, err)
			mu.Unlock()
			<-turns
		})
	}
	plays.Wait()
	if failed != nil {
		return failed
	}
	order := m.results[b.policies[0].name].order
	m.oracle, err = b.askOracle(ctx, prompts, order)
	return err
}

// report writes the page to the standard output, and into the folder.
func (b *bench) report() error {
	var page bytes.Buffer
	b.write(&page)
	return command.Publish(page.String(), b.options.out, func() []command.File {
		return []command.File{{Name: "routing.md", Data: page.Bytes()}, {Name: "routing.svg", Data: b.plot()}}
	})
}
