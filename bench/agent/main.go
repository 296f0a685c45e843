// Command agent measures what the turns of coding agents cost an Envoy with the filter: a session of 43 turns whose last
// request has 138,000 tokens. Plain Envoy, an older build of the filter and this one play the same sessions in turns:
// every round has all of them in random order, so that all have the machine under the same load.
//
// It knows how to play a session and read a process's clock. It does not know how the filter works.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/command"
	"github.com/harmonyedge/harmonyedge/e2e/agents"
	"github.com/harmonyedge/harmonyedge/operator/config"
)

type options struct {
	rounds, sessions             int
	seed                         uint64
	tuning                       bool
	loads, beside, frontEnd, out string
	// memory is the prefix_memory of this build.
	memory config.Size
}

func main() {
	o := options{memory: 8 << 20}
	flag.IntVar(&o.rounds, "rounds", 11, "`rounds` of each load")
	flag.IntVar(&o.sessions, "sessions", 30, "`sessions` that are played when memory is measured")
	flag.Uint64Var(&o.seed, "seed", 1, "the first session's `seed`; each round has another session")
	flag.BoolVar(&o.tuning, "tuning", false, "play the sessions of the family that the gateway is tuned on")
	flag.StringVar(&o.loads, "loads", ".", "measure only loads whose name matches this `expression`; -list shows all")
	flag.StringVar(&o.beside, "beside", "", "an older build of the filter, a `file` or the folder that has it")
	flag.StringVar(&o.frontEnd, "vllm-rs", ".tools/vllm/vllm/vllm-rs",
		"vLLM's Rust front end, a `file` (make tool-vllm); without it that row is left out")
	flag.StringVar(&o.out, "out", "", "write agent-turns.md into this `folder` too")
	flag.Var(&o.memory, "prefix-memory", "a `size`: the prefix_memory of this build; 0 is none")
	list := flag.Bool("list", false, "list the loads, and measure nothing")
	command.Main("bench-agent", func(ctx context.Context) error {
		if !*list {
			return run(ctx, o)
		}
		for _, l := range loads() {
			fmt.Printf("%-30s %s\n", l.name, l.about)
		}
		return nil
	})
}

// family returns the family whose sessions are played.
func (o *options) family() agents.Family {
	if o.tuning {
		return agents.Tuning
	}
	return agents.HoldOut
}

// bench is a run.
type bench struct {
	options  options
	server   *server
	gateways *gateways
	loads    []load
	// samples are those of each load and variant, one of each round.
	samples map[key][]sample
	// memories are what the gateways' memories came to, by variant.
	memories map[variant]memory
}

type key struct {
	load    string
	variant variant
}

func run(ctx context.Context, o options) error {
	byName, err := regexp.Compile(o.loads)
	if err != nil {
		return err
	}
	b := &bench{options: o, samples: map[key][]sample{}, memories: map[variant]memory{}}
	b.loads = slices.DeleteFunc(loads(), func(l load) bool { return !byName.MatchString(l.name) })
	if len(b.loads) == 0 {
		return fmt.Errorf("no load has such a name: %s", o.loads)
	}
	if b.server, err = startServer(); err != nil {
		return err
	}
	defer b.server.close()
	if b.gateways, err = startGateways(b.server, b.loads, o); err != nil {
		return err
	}
	defer b.gateways.stop()
	err = b.rounds(ctx)
	if err != nil && ctx.Err() == nil {
		return err
	}
	// A person who interrupts a run wants to see what was measured so far.
	return errors.Join(err, b.report())
}

// rounds gives each variant of each load a turn, as often as the options say.
func (b *bench) rounds(ctx context.Context) error {
	start := time.Now()
	for round := range b.options.rounds {
		for _, l := range b.loads {
			command.Progress("%4.0f s  round %d: %s", time.Since(start).Seconds(), round+1, l.name)
			turns := b.gateways.variants(l)
			rand.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
			plays := l.plays(b.options.family(), b.options.seed+uint64(round))
			for _, v := range turns {
				s, err := b.play(ctx, v, l, plays)
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					return fmt.Errorf("%s, %s: %w", l.name, v, err)
				}
				b.samples[key{l.name, v}] = append(b.samples[key{l.name, v}], s)
			}
		}
	}
	if !slices.ContainsFunc(b.loads, func(l load) bool { return l.name == kept }) {
		return nil
	}
	for _, v := range []variant{older, this} {
		command.Progress("%4.0f s  memory: %s", time.Since(start).Seconds(), v)
		if err := b.measureMemory(ctx, v); err != nil {
			return fmt.Errorf("memory, %s: %w", v, err)
		}
	}
	return nil
}

// report prints the tables, and writes the page if it is wanted.
func (b *bench) report() error {
	var text strings.Builder
	b.write(&text)
	return command.Publish(text.String(), b.options.out, func() []command.File {
		return []command.File{{Name: "agent-turns.md", Data: []byte(b.page(text.String()))}}
	})
}
