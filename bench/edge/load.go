package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// metric is a figure that a load measures.
type metric string

const (
	cpu       metric = "CPU"        // µs for each token or request
	firstByte metric = "first byte" // ms from the request, the median
	delay50   metric = "p50"        // ms from the server to the client, for a chunk
	delay99   metric = "p99"
	delay999  metric = "p99.9"
	resident  metric = "resident"       // MiB of the process
	vmMemory  metric = "VMs"            // MiB of all VMs in it
	ready     metric = "ready"          // ms from the start until it serves
	startCPU  metric = "CPU until then" // ms
	held      metric = "with streams"   // MiB of the process
	vmsHeld   metric = "VMs with streams"
	// collections and longest are counted for the process since its start, so of earlier loads too.
	collections metric = "collections"
	longest     metric = "longest" // ms
)

// sample is what one turn of a variant has measured.
type sample map[metric]float64

// load is a way to burden a gateway.
type load struct {
	name string
	// about says what happens, and unit what CPU is for.
	about, unit string
	metrics     []metric
	asks        []ask
	applies     func(*variant) bool
	measure     func(context.Context, *bench, *variant) (sample, error)
}

const (
	// shortAnswer is how many words a small answer has.
	shortAnswer = 20
	// smallRequests are sent in a turn, by so many clients.
	smallRequests, smallClients = 200, 4
	// fullStreams run back to back, each of so many words.
	fullStreams, fullWords = 8, 1000
	// neighbours are the streams beside long prompts.
	neighbours = 50
)

var (
	small      = ask{prompt: 20, words: shortAnswer}
	longPrompt = ask{prompt: 100_000, words: shortAnswer}
)

// ramp is how long the streams of a load may take to begin, and how long they go on after they were measured.
func (o options) ramp() time.Duration { return o.window / 2 }

// loads returns all loads, with the sizes that the options give.
func loads(o options) []load {
	if len(o.crowds) > 0 {
		var all []load
		for _, c := range o.crowds {
			all = append(all, c.load())
		}
		return all
	}
	streams := func(v *variant) bool { return !v.whole }
	ofVLLM := func(v *variant) bool { return v.kind == contract.VLLM }
	gatewayOnly := func(v *variant) bool { return streams(v) && ofVLLM(v) && v.through != rustFrontEnd }
	paced := ask{prompt: 20, words: int(o.rate * (o.window + 2*o.ramp()).Seconds())}
	all := []load{
		{
			name: "paced", unit: "token", asks: []ask{paced}, applies: streams,
			about:   fmt.Sprintf("%d streams at %.0f tokens/s, a token in each event", o.streams, o.rate),
			metrics: []metric{cpu, delay50, delay99, delay999, resident, vmMemory, collections, longest},
			measure: func(ctx context.Context, b *bench, v *variant) (sample, error) {
				return b.turnOf(v).streams(ctx, paced, o.streams)
			},
		},
		{
			name: "full", unit: "token", asks: []ask{{20, fullWords}}, applies: streams,
			about:   fmt.Sprintf("%d streams of %d tokens back to back, as fast as they come", fullStreams, fullWords),
			metrics: []metric{cpu, resident, vmMemory, collections, longest},
			measure: func(ctx context.Context, b *bench, v *variant) (sample, error) {
				return b.turnOf(v).requests(ctx, ask{20, fullWords}, fullStreams, fullStreams, fullWords)
			},
		},
		{
			name: "small", unit: "request", asks: []ask{small}, applies: func(*variant) bool { return true },
			about: fmt.Sprintf("%d small requests by %d clients, answers of %d tokens; no filter always has a stream",
				smallRequests, smallClients, shortAnswer),
			metrics: []metric{cpu, firstByte},
			measure: func(ctx context.Context, b *bench, v *variant) (sample, error) {
				return b.turnOf(v).requests(ctx, small, smallRequests, smallClients, 1)
			},
		},
	}
	for _, tokens := range []int{100, 1000, 10_000, 100_000} {
		a, n := ask{tokens, shortAnswer}, max(3, min(40, 100_000/tokens))
		all = append(all, load{
			name: "prompt " + thousands(tokens), unit: "request", asks: []ask{a}, applies: gatewayOnly,
			about:   fmt.Sprintf("%d prompts of %d tokens, one after the other", n, tokens),
			metrics: []metric{cpu, firstByte},
			measure: func(ctx context.Context, b *bench, v *variant) (sample, error) {
				return b.turnOf(v).requests(ctx, a, n, 1, 1)
			},
		})
	}
	return append(all,
		load{
			name: "neighbours", unit: "token", asks: []ask{paced, longPrompt}, applies: gatewayOnly,
			about: fmt.Sprintf("%d streams at %.0f tokens/s, while prompts of %d tokens come one after the other",
				neighbours, o.rate, longPrompt.prompt),
			metrics: []metric{delay50, delay99, delay999},
			measure: func(ctx context.Context, b *bench, v *variant) (sample, error) {
				return b.turnOf(v).neighbours(ctx, paced)
			},
		},
		load{
			name: "idle", unit: "stream", asks: []ask{small}, applies: gatewayOnly,
			about:   fmt.Sprintf("%d streams that have begun and say nothing; CPU is for a stream and second", o.idle),
			metrics: []metric{cpu, resident, vmMemory, collections, longest},
			measure: func(ctx context.Context, b *bench, v *variant) (sample, error) {
				return b.turnOf(v).idle(ctx, o.idle, o.window)
			},
		},
		load{
			name: "start", about: "an Envoy with one worker, from its start until it serves",
			applies: func(v *variant) bool { return gatewayOnly(v) && (v.api == raw || v.api == chat) },
			metrics: []metric{ready, startCPU, resident, vmMemory},
			measure: func(_ context.Context, b *bench, v *variant) (sample, error) { return b.start(v) },
		})
}

// thousands writes 100000 as 100k.
func thousands(n int) string {
	if n >= 1000 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// matching returns the loads of these names.
func matching(all []load, match func(string) bool) ([]load, error) {
	var names []string
	for _, l := range all {
		names = append(names, l.name)
	}
	all = slices.DeleteFunc(all, func(l load) bool { return !match(l.name) })
	if len(all) == 0 {
		return nil, fmt.Errorf("no load has such a name; there are: %s", strings.Join(names, ", "))
	}
	return all, nil
}
