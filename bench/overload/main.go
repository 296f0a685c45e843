// Command overload measures what clients get when more is asked of a pool than it can do: how long their first tokens
// take, how much comes in time, how evenly, and what is refused. Real Envoys with the filter play one workload on
// simulated servers, once for each way to treat what is too much.
//
// It knows Envoy, the filter, the routers and the servers from outside. It does not know how a queue orders.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/command"
	"github.com/harmonyedge/harmonyedge/bench/stand"
	"github.com/harmonyedge/harmonyedge/bench/workload"
	"github.com/harmonyedge/harmonyedge/sim"
)

// options are the flags.
type options struct {
	rows, out         string
	smg, gaie, log    string
	servers, capacity int
	seed              uint64
	scale             workload.OverloadScale
	server            sim.Options
	quiet, others     time.Duration
	deadline          time.Duration
}

func main() {
	o := options{server: sim.Options{Models: []string{model}, Keep: -1, Script: stand.Answers(), PromptTokensDetails: true}}
	flag.StringVar(&o.rows, "rows", ".", "measure only rows whose name matches this `expression`")
	flag.StringVar(&o.smg, "smg", "", "`program` of SMG; empty leaves out its row")
	flag.StringVar(&o.gaie, "gaie", "", "`program` of the Inference Extension's picker; empty leaves out its rows")
	flag.IntVar(&o.servers, "servers", 4, "`servers` of the pool")
	flag.IntVar(&o.capacity, "capacity", 16, "`requests` that a server gets at once")
	flag.Uint64Var(&o.seed, "seed", 1, "`number` from which the workload is made")
	flag.DurationVar(&o.scale.Length, "length", 45*time.Second, "how `long` new conversations come")
	flag.Float64Var(&o.scale.Load, "load", 1.5, "`factor` of all requests' rates")
	flag.Float64Var(&o.scale.Burst, "burst", 2.5, "the burst's rate, as a `factor` of the noisy client's")
	flag.IntVar(&o.server.CacheBlocks, "blocks", 12288, "`blocks` in a server's cache")
	flag.IntVar(&o.server.MaxRunning, "running", 16, "`requests` in a server's batch")
	flag.Float64Var(&o.server.PrefillRate, "prefill", 16000, "`tokens` of prompts that a server computes a second")
	flag.Float64Var(&o.server.DecodeRate, "decode", 1500, "`tokens` of answers that a server computes a second")
	flag.DurationVar(&o.server.StepTime, "step", 10*time.Millisecond, "`time` of a step without tokens")
	flag.DurationVar(&o.quiet, "quiet-limit", 2*time.Second, "`time` to the first token that quiet clients bear")
	flag.DurationVar(&o.others, "limit", 10*time.Second, "`time` to the first token that the others bear")
	flag.DurationVar(&o.deadline, "deadline", 10*time.Second, "how `long` requests wait in a queue")
	flag.StringVar(&o.log, "log", "", "let Envoy write its access log into this `file`")
	flag.StringVar(&o.out, "out", "", "write overload.md and overload.svg into this `folder` too")
	command.Main("bench-overload", func(ctx context.Context) error { return run(ctx, o) })
}

// limit is how long the first token of a request of a group may take.
func (o *options) limit(group string) time.Duration {
	if group == workload.Agents || group == workload.Chats {
		return o.quiet
	}
	return o.others
}

// bench is a run.
type bench struct {
	options options
	work    *workload.Workload
	prompts map[string][]int // tokens of the prompts of a conversation, by its ID
	loads   loads
	rows    []row
	results map[string]*result // by row
}

func run(ctx context.Context, o options) error {
	chosen, err := regexp.Compile(o.rows)
	if err != nil {
		return err
	}
	b := &bench{options: o, work: workload.Overload(o.seed, o.scale), results: map[string]*result{}}
	if err := b.measureWork(); err != nil {
		return err
	}
	for _, r := range b.all() {
		if !chosen.MatchString(r.name) {
			continue
		}
		played, err := b.play(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		b.rows = append(b.rows, r)
		b.results[r.name] = played
		command.Progress("%s  %s", time.Now().Format(time.TimeOnly), b.line(r.name))
	}
	if len(b.rows) == 0 {
		return errors.New("no row has such a name")
	}
	var page bytes.Buffer
	b.write(&page)
	return command.Publish(page.String(), o.out, func() []command.File {
		return []command.File{{Name: "overload.md", Data: page.Bytes()}, {Name: "overload.svg", Data: b.plot()}}
	})
}
