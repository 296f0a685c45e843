// Command edge measures what the filter costs at the edge. It burdens the real Envoy with and without the filter, and
// vLLM's own front end, in turns: every round has all of them in random order, so that all have the machine under the
// same load.
//
// It knows how to burden a gateway and read a process's clock. It does not know how the filter works.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/command"
)

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 7, "the fewest `rounds` of a load")
	flag.IntVar(&o.most, "most", 41, "the most `rounds` of a load whose targets are still open")
	flag.StringVar(&o.loads, "loads", ".", "measure only loads whose name matches this `expression`; -list shows all")
	flag.StringVar(&o.variants, "variants", ".", "measure only variants whose name matches this `expression`")
	flag.StringVar(&o.beside, "beside", "", "another build of the filter, a `file`, to measure in the same rounds")
	flag.StringVar(&o.frontEnd, "vllm-rs", ".tools/vllm/vllm/vllm-rs",
		"vLLM's Rust front end, a `file` (make tool-vllm); without it that variant is left out")
	flag.IntVar(&o.streams, "streams", 200, "`streams` of the load paced")
	flag.Float64Var(&o.rate, "rate", 50, "`tokens` per second of each paced stream")
	flag.DurationVar(&o.window, "window", 2*time.Second, "how `long` a turn of a load with running streams is measured")
	flag.IntVar(&o.idle, "idle", 1000, "`streams` of the load idle")
	flag.Func("crowds", "measure Envoys of these `sizes` instead of all loads, such as 1x1000,64x10000: workers x streams",
		func(text string) (err error) {
			o.crowds, err = parseCrowds(text)
			return err
		})
	flag.StringVar(&o.out, "out", "", "write edge.md and edge.svg, or workers.md or tap.md, into this `folder` too")
	flag.BoolVar(&o.tap, "tap", false, "measure the filter with a recorder of requests too")
	list := flag.Bool("list", false, "list loads and variants, and measure nothing")
	command.Main("bench-edge", func(ctx context.Context) error {
		if *list {
			o.list()
			return nil
		}
		return run(ctx, o)
	})
}

type options struct {
	rounds, most, streams, idle            int
	loads, variants, beside, frontEnd, out string
	crowds                                 []crowd
	rate                                   float64
	tap                                    bool
	window                                 time.Duration
}

func (o options) list() {
	for _, l := range loads(o) {
		fmt.Printf("load     %-16s %s\n", l.name, l.about)
	}
	for _, v := range o.variantsOf() {
		fmt.Printf("variant  %s\n", v.name)
	}
}

func (o options) variantsOf() []*variant {
	all := variantsOf(o.beside != "")
	if o.tap {
		all = append(all, tapVariants()...)
	}
	return all
}

// bench is a run.
type bench struct {
	options  options
	servers  *servers
	gateways *gateways
	client   *client
	variants []*variant
	results  []*result
}

// result has the samples of a load, for each variant one of each round.
type result struct {
	load    load
	samples map[string][]sample
	rounds  int
}

func run(ctx context.Context, o options) error {
	b := &bench{options: o}
	selected, err := b.choose()
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.prepare(ctx, selected); err != nil {
		return err
	}
	err = b.rounds(ctx)
	if err != nil && ctx.Err() == nil {
		return err
	}
	// A person who interrupts a run wants to see what was measured so far.
	return errors.Join(err, b.report())
}

// choose returns the loads and variants that the options name.
func (b *bench) choose() ([]load, error) {
	byLoad, err := regexp.Compile(b.options.loads)
	if err != nil {
		return nil, err
	}
	byVariant, err := regexp.Compile(b.options.variants)
	if err != nil {
		return nil, err
	}
	selected, err := matching(loads(b.options), byLoad.MatchString)
	if err != nil {
		return nil, err
	}
	all := b.options.variantsOf()
	if _, err := os.Stat(b.options.frontEnd); err != nil {
		command.Progress("without %s: %v", rustFrontEnd, err)
		all = slices.DeleteFunc(all, func(v *variant) bool { return v.through == rustFrontEnd })
	}
	b.variants, err = chosen(all, byVariant.MatchString)
	return selected, err
}

// prepare starts servers and gateways, and records what our filter sends to the servers.
func (b *bench) prepare(ctx context.Context, selected []load) error {
	var asks []ask
	var lengths []int
	for _, l := range selected {
		b.results = append(b.results, &result{load: l, samples: map[string][]sample{}})
		for _, a := range l.asks {
			if !slices.Contains(asks, a) {
				asks = append(asks, a)
			}
			if !slices.Contains(lengths, a.words) {
				lengths = append(lengths, a.words)
			}
		}
	}
	names := []string{ours}
	for _, v := range b.variants {
		if !slices.Contains(names, v.through) {
			names = append(names, v.through)
		}
	}
	var err error
	if b.servers, err = startServers(lengths); err != nil {
		return err
	}
	b.client = newClient(b.servers)
	if b.gateways, err = startGateways(b.servers, names, b.options); err != nil {
		return err
	}
	for _, v := range b.variants {
		for _, a := range asks {
			if !v.isBase() {
				continue
			}
			if err := b.client.record(ctx, b.gateways.running[ours], v.kind, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// close ends the parts that were started.
func (b *bench) close() {
	if b.client != nil {
		b.client.http.CloseIdleConnections()
	}
	if b.gateways != nil {
		b.gateways.stop()
	}
	if b.servers != nil {
		b.servers.close()
	}
}

func (b *bench) turnOf(v *variant) *turn { return &turn{b, v, b.gateways.running[v.through]} }

// rounds measures until no target is open, or there have been enough rounds.
func (b *bench) rounds(ctx context.Context) error {
	start := time.Now()
	for round := 1; round <= b.options.most; round++ {
		going := 0
		for _, r := range b.results {
			if r.rounds >= b.options.rounds && !b.isOpen(r) {
				continue
			}
			going++
			command.Progress("%4.0f s  round %d: %s", time.Since(start).Seconds(), round, r.load.name)
			if err := b.round(ctx, r); err != nil {
				return err
			}
		}
		if going == 0 {
			break
		}
	}
	return nil
}

// round gives each variant of a load a turn.
func (b *bench) round(ctx context.Context, r *result) error {
	turns := slices.DeleteFunc(slices.Clone(b.variants), func(v *variant) bool { return !r.load.applies(v) })
	rand.Shuffle(len(turns), func(i, j int) { turns[i], turns[j] = turns[j], turns[i] })
	for _, v := range turns {
		s, err := r.load.measure(ctx, b, v)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("%s, %s: %w", r.load.name, v.name, err)
		}
		r.samples[v.name] = append(r.samples[v.name], s)
	}
	r.rounds++
	return nil
}

// report prints the tables, and writes page and plot if they are wanted.
func (b *bench) report() error {
	var text strings.Builder
	b.write(&text)
	return command.Publish(text.String(), b.options.out, func() []command.File { return b.files(text.String()) })
}

// files returns what is written of a run with these tables.
func (b *bench) files(tables string) []command.File {
	switch {
	case len(b.options.crowds) > 0:
		return []command.File{{Name: "workers.md", Data: []byte(crowdsPage(tables))}}
	case b.options.tap:
		return []command.File{{Name: "tap.md", Data: []byte(tapPage(tables))}}
	}
	return []command.File{{Name: "edge.md", Data: []byte(b.page(tables))}, {Name: "edge.svg", Data: b.plot()}}
}
