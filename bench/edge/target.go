package main

import (
	"fmt"

	"github.com/harmonyedge/harmonyedge/bench/stats"
	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
)

// target bounds a variant's figure, beside another's in the same round unless against is empty.
type target struct {
	load        string
	metric      metric
	of, against string
	// added compares by the difference rather than the ratio.
	added bool
	limit float64
}

// targets are what the filter should cost.
var targets = []target{
	{load: "paced", metric: cpu, of: "chat", against: plain, limit: 1.25},
	{load: "paced", metric: cpu, of: "responses", against: plain, limit: 1.25},
	{load: "paced", metric: cpu, of: "chat", against: constant, limit: 1.10},
	{load: "paced", metric: cpu, of: "responses", against: constant, limit: 1.10},
	{load: "paced", metric: cpu, of: "chat", against: rustFrontEnd, limit: 0.80},
	{load: "paced", metric: longest, of: "chat", limit: 1},
	{load: "full", metric: cpu, of: "chat", against: plain, added: true, limit: 1.5},
	{load: "small", metric: cpu, of: "chat whole", against: plain, limit: 2},
	{load: "small", metric: cpu, of: "responses whole", against: plain, limit: 2},
	{load: "prompt 100k", metric: firstByte, of: "chat", against: plain, added: true, limit: 15},
	{load: "start", metric: ready, of: "chat", against: plain, added: true, limit: 150},
}

// compare returns how a variant's figures compare with another's, round by round. Without another they are returned as
// they are.
func (r *result) compare(m metric, of, against string, added bool) []float64 {
	var figures []float64
	if against == "" {
		for _, s := range r.samples[of] {
			if v, ok := s[m]; ok {
				figures = append(figures, v)
			}
		}
		return figures
	}
	for i := range min(len(r.samples[of]), len(r.samples[against])) {
		a, ok := r.samples[of][i][m]
		b, both := r.samples[against][i][m]
		switch {
		case !ok || !both:
		case added:
			figures = append(figures, a-b)
		default:
			figures = append(figures, a/b)
		}
	}
	return figures
}

// value returns the median of a variant's own figures.
func (r *result) value(m metric, of string) float64 { return stats.Median(r.compare(m, of, "", false)) }

// measured returns a target's estimate, and whether both of its variants were measured.
func (t target) measured(r *result) (stats.Estimate, bool) {
	figures := r.compare(t.metric, t.of, t.against, t.added)
	return stats.Of(figures), t.load == r.load.name && len(figures) > 0
}

// isOpen reports whether more rounds could decide about a target of a load.
func (b *bench) isOpen(r *result) bool {
	for _, t := range targets {
		if e, ok := t.measured(r); ok && e.Judge(t.limit) == stats.Open {
			return true
		}
	}
	return false
}

// unit returns the unit of a figure.
func (m metric) unit() string {
	switch m {
	case cpu:
		return "µs"
	case resident, vmMemory, held, vmsHeld:
		return "MiB"
	case collections:
		return ""
	}
	return "ms"
}

func (t target) String() string {
	if t.against == "" {
		return fmt.Sprintf("%s: %s of %s", t.load, t.metric, t.of)
	}
	if t.added {
		return fmt.Sprintf("%s: %s of %s, over %s", t.load, t.metric, t.of, t.against)
	}
	return fmt.Sprintf("%s: %s of %s ÷ %s", t.load, t.metric, t.of, t.against)
}

// kinds returns the kinds of servers before which Chat was measured.
func (r *result) kinds(variants []*variant) []string {
	var kinds []string
	for _, v := range variants {
		if v.api == chat && v.through == ours && !v.whole && len(r.samples[v.name]) > 0 {
			kinds = append(kinds, v.kind)
		}
	}
	return kinds
}

// chatBefore returns the name of the variant that speaks Chat before servers of a kind.
func chatBefore(kind string) string {
	if kind == contract.VLLM {
		return "chat"
	}
	return "chat " + shown(kind)
}
