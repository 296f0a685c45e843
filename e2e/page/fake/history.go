//go:build e2e

package fake

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/harmonyedge/harmonyedge/harmonycore/contract"
	"github.com/harmonyedge/harmonyedge/sight/history"
)

// Hour returns an hour of load that ends now. A server dies 41 s before its end, and an Envoy refused something 17
// minutes before.
func Hour(now time.Time) *history.History {
	end := now.Truncate(5 * time.Second)
	// The clock stands when the last interval is complete.
	h := history.New(history.Options{Now: func() time.Time { return end.Add(time.Second) }})
	e := &edge{random: rand.New(rand.NewPCG(1, 2)), counts: map[[3]string]float64{}, first: map[float64]float64{}}
	for ago := time.Hour; ago >= 0; ago -= 5 * time.Second {
		at := end.Add(-ago)
		e.live(ago)
		h.Add(at, "edge-ams-1", e.families())
		h.Set(at, history.Streams, nil, math.Round(e.near(182*e.load, .02)))
		ready := 5.0
		if ago < 41*time.Second {
			ready = 4
		}
		h.Set(at, history.Servers, map[string]string{"state": "ready"}, ready)
		h.Set(at, history.Servers, map[string]string{"state": "unreachable"}, 5-ready)
	}
	return h
}

// edge is an Envoy whose counters grow.
type edge struct {
	random *rand.Rand
	load   float64
	counts map[[3]string]float64 // by metric, label and value
	first  map[float64]float64   // times to the first token, by the bounds of their buckets
}

// near returns about v.
func (e *edge) near(v, share float64) float64 { return math.Max(0, v*(1+share*e.random.NormFloat64())) }

// live lets 5 s go by.
func (e *edge) live(ago time.Duration) {
	x := 1 - ago.Hours()
	e.load = 0.55 + 0.3*math.Sin(x*4.4-0.6) + 0.12*math.Sin(x*23)
	for _, c := range []struct {
		family contract.Metric
		label  string
		value  string
		rate   float64 // per second, at a load of 1
	}{
		{contract.TokensTotal, "kind", "reasoning", 2400}, {contract.TokensTotal, "kind", "preamble", 240},
		{contract.TokensTotal, "kind", "tool_call", 480}, {contract.TokensTotal, "kind", "final", 1500},
		{contract.TokensTotal, "kind", "prompt", 31000}, {contract.TokensTotal, "kind", "cached", 22000},
		{contract.TokensTotal, "kind", "tool_output", 6100}, {contract.RequestsTotal, "status", "200", 14},
		{contract.RequestsTotal, "status", "400", .5}, {contract.RecoveriesTotal, "kind", "missing_end", .06},
		{contract.RecoveriesTotal, "kind", "repaired_recipient", .04}, {contract.RecoveriesTotal, "kind", "loose_words", .02},
	} {
		e.count(c.family, c.label, c.value, e.near(c.rate*e.load*5, .03))
	}
	slow := 1.0
	if ago < 45*time.Second {
		e.count(contract.RequestsTotal, "status", "503", e.near(8, .2))
		slow = 2
	}
	nacks := 0.0
	if ago == 17*time.Minute {
		nacks = 2
	}
	e.counts[[3]string{history.NACKFamily, "result", history.Refused}] += nacks
	for range 60 {
		ms := slow * (170 + 260*e.load) * math.Exp(.5*e.random.NormFloat64())
		for _, bound := range contract.TimeToFirstToken.Buckets() {
			if ms <= bound {
				e.first[bound]++
			}
		}
		e.first[math.Inf(1)]++
	}
}

func (e *edge) count(family contract.Metric, label, value string, n float64) {
	e.counts[[3]string{family.Info().Name, label, value}] += n
}

// families returns the Envoy's metrics.
func (e *edge) families() history.Families {
	byName := map[string][]history.Sample{}
	for key, n := range e.counts {
		byName[key[0]] = append(byName[key[0]], history.Sample{Labels: map[string]string{key[1]: key[2]}, Value: n})
	}
	var all history.Families
	for name, samples := range byName {
		all = append(all, history.Family{Name: name, Samples: samples})
	}
	times := history.Sample{}
	for _, bound := range slices.Sorted(maps.Keys(e.first)) {
		times.Buckets = append(times.Buckets, history.Bucket{Bound: bound, Count: e.first[bound]})
	}
	return append(all, history.Family{Name: contract.TimeToFirstToken.Info().Name, Samples: []history.Sample{times}})
}
