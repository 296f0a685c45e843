package main

import (
	"fmt"
	"io"
	"time"

	"github.com/harmonyedge/harmonyedge/bench/command"
	"github.com/harmonyedge/harmonyedge/e2e/lab"
)

// write writes the page.
func (b *bench) write(out io.Writer) {
	o := &b.options
	fmt.Fprintf(out, `# Routing by what servers have in their caches

`+"`make bench-routing`"+` has written this page on %s, on %s, which
other programs used too. One Envoy with the filter had %d simulated servers in a pool, and played each workload once with
each policy, %d policies at a time. A server's cache has %d blocks of 16 tokens. A step of it takes %v, and a second
more for %.0f tokens of prompts that are not in the cache, or %.0f tokens of answers. New conversations came for %v.

- **Hits**: the part of all prompts' tokens that the servers had in their caches.
- **Of the oracle**: the hit rate, compared with [a separate program](../../bench/routingsim/oracle.py), which has one
  cache of all servers' size and knows the future.
- **p50, p95, p99**: of the time to the first token.
- **In flight**: the requests at the server that had the most on average over time, beside the mean of the servers.
  **At a moment**: the same at each moment, then averaged. **Work**: the same for the time that steps took.

How many blocks of a prompt should count, and how much load a server may have, [a simulation](routing-blocks.md) says.

![Hit rate, time to first token and spread of load of each policy](routing.svg)

`, time.Now().UTC().Format(time.DateOnly), lab.Machine(), o.servers, o.together, o.server.CacheBlocks,
		o.server.StepTime, o.server.PrefillRate, o.server.DecodeRate, o.length)
	for _, m := range b.measured {
		b.writeWorkload(out, m)
	}
	b.writeTargets(out)
}

func (b *bench) writeWorkload(out io.Writer, m *measured) {
	fmt.Fprintf(out, "## %s\n\n%s.\n\n%d requests of %d tokens on average. The oracle has %.1f %% of the tokens, "+
		"and %.1f %% with a cache without bounds.\n\n", command.Capital(m.Name), command.Capital(m.About), m.Requests(),
		m.tokens/m.Requests(), percent(m.oracle.Hits, m.oracle.Queried), percent(m.oracle.Unbounded, m.oracle.Queried))
	var rows [][]string
	for _, p := range b.policies {
		r := m.results[p.name]
		rows = append(rows, []string{p.name, fmt.Sprintf("%.1f", r.hitRate()), fmt.Sprintf("%.2f", m.ofOracle(p.name)),
			ms(r.at(0.50)), ms(r.at(0.95)), ms(r.at(0.99)), fmt.Sprintf("%.2f", maxOverMean(r.occupied)),
			fmt.Sprintf("%.2f", mean(r.moments)), fmt.Sprintf("%.2f", maxOverMean(r.work)), fmt.Sprint(r.preemptions)})
	}
	lab.WriteTable(out, []string{"policy", "hits, %", "of the oracle", "p50, ms", "p95, ms", "p99, ms", "in flight",
		"at a moment", "work", "preemptions"}, rows)
}

// The targets of prefix: its hit rate beside the oracle's, and its spread of load beside least request's.
const (
	leastOfOracle = 0.95
	mostSpread    = 1.3
)

// writeTargets says whether prefix and picker meet the targets.
func (b *bench) writeTargets(out io.Writer) {
	var rows [][]string
	for _, m := range b.measured {
		least, ok := m.results["least request"]
		if !ok {
			continue
		}
		for _, name := range []string{"prefix", "picker"} {
			r, ok := m.results[name]
			if !ok {
				continue
			}
			spread := maxOverMean(r.occupied) / maxOverMean(least.occupied)
			rows = append(rows, []string{m.Name, name, fmt.Sprintf("%.2f", m.ofOracle(name)),
				verdict(m.ofOracle(name) >= leastOfOracle), fmt.Sprintf("%.2f", spread), verdict(spread <= mostSpread),
				fmt.Sprintf("%.2f", mean(r.moments)/mean(least.moments)),
				fmt.Sprintf("%.2f", maxOverMean(r.work)/maxOverMean(least.work))})
		}
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprint(out, "## Targets\n\nA hit rate within 5 % of the oracle's, and a spread of load within 1.3 × of least "+
		"request's.\n\n")
	lab.WriteTable(out, []string{"workload", "policy", "hit rate ÷ oracle's", "", "in flight ÷ least request's", "",
		"at a moment ÷", "work ÷"}, rows)
}

func verdict(ok bool) string {
	if ok {
		return "met"
	}
	return "not met"
}

func (r *result) hitRate() float64 { return percent(r.hits, r.queried) }

// at returns the time to the first token that a share of the requests do not exceed.
func (r *result) at(share float64) time.Duration {
	return r.ttft[min(int(share*float64(len(r.ttft))), len(r.ttft)-1)]
}

// ofOracle returns a policy's hit rate beside the oracle's.
func (m *measured) ofOracle(policy string) float64 {
	r := m.results[policy]
	return r.hitRate() / percent(m.oracle.Hits, m.oracle.Queried)
}

func percent(part, all int) float64 { return 100 * float64(part) / float64(all) }

func ms(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

func mean(all []float64) float64 {
	total := 0.0
	for _, v := range all {
		total += v
	}
	return total / float64(max(len(all), 1))
}

func maxOverMean(all []float64) float64 {
	most := 0.0
	for _, v := range all {
		most = max(most, v)
	}
	return most / mean(all)
}
