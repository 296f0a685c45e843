package load

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// fleet simulates servers with slots and queues, in steps of ten milliseconds.
type fleet struct {
	random  *rand.Rand
	servers []simulated
	meters  []Meter
	weights []uint32
	waits   []float64    // seconds that requests have waited for a slot
	turns   [8][]float64 // of the weighted round robins of Envoys
}

type simulated struct {
	slots   int
	seconds float64   // that a request takes, more or less
	running []float64 // the times at which they end
	queue   []float64 // the times at which they came
}

// choose returns the next server of one of the Envoys, as a weighted round robin has it.
func (f *fleet) choose() int {
	turn := f.turns[f.random.IntN(len(f.turns))]
	best := 0
	for i := range turn {
		if turn[i] < turn[best] {
			best = i
		}
	}
	turn[best] += 1 / float64(f.weights[best])
	return best
}

// run runs the fleet for some seconds at a rate of requests, with weights by load or without, and returns how long the
// slowest one of 100 requests waits, and how often a weight changed in a minute.
func (f *fleet) run(seconds, rate float64, byLoad bool) (p99, changes float64) {
	var w Weigher[int]
	f.meters = make([]Meter, len(f.servers))
	f.weights = slices.Repeat([]uint32{Middle}, len(f.servers))
	for i := range f.turns {
		f.turns[i] = make([]float64, len(f.servers))
		for k := range f.turns[i] {
			f.turns[i][k] = f.random.Float64() / Middle
		}
	}
	n := 0
	const step = 0.01
	for tick := 1; float64(tick)*step < seconds; tick++ {
		now := float64(tick) * step
		at := start.Add(time.Duration(now * float64(time.Second)))
		for range poisson(f.random, rate*step) {
			s := &f.servers[f.choose()]
			s.queue = append(s.queue, now)
		}
		for i := range f.servers {
			s := &f.servers[i]
			s.running = slices.DeleteFunc(s.running, func(end float64) bool { return end <= now })
			for len(s.running) < s.slots && len(s.queue) > 0 {
				f.waits = append(f.waits, now-s.queue[0])
				s.queue = s.queue[1:]
				s.running = append(s.running, now+s.seconds*(0.5+f.random.Float64()))
			}
		}
		if tick%200 == 0 { // every two seconds, as pools are asked by default
			for i := range f.servers {
				f.meters[i].Add(at, told(len(f.servers[i].running), len(f.servers[i].queue)))
			}
		}
		if byLoad && tick%500 == 0 { // every five seconds, as weights are pushed
			all := make([]Server[int], len(f.servers))
			for i := range all {
				all[i] = Server[int]{Key: i, Load: f.meters[i].Load(), Share: 1}
			}
			for i, one := range w.Weigh(at, all, ByLoad) {
				if f.weights[i] != one.Value {
					n++
				}
				f.weights[i] = one.Value
			}
		}
	}
	slices.Sort(f.waits)
	return f.waits[len(f.waits)*99/100], float64(n) / (seconds / 60)
}

// TestFeedback checks what weights do to the time that requests wait: little where servers are alike, also when they are
// almost full, and much good where they are not.
func TestFeedback(t *testing.T) {
	for _, tt := range []struct {
		name        string
		utilization float64
		seconds     float64 // of a request
		slow        int     // servers that are half as fast
		within      func(without, with float64) bool
	}{
		{"alike, 70 % used", 0.7, 1, 0, func(without, with float64) bool { return with < without+0.2 }},
		{"alike, 85 % used", 0.85, 1, 0, func(without, with float64) bool { return with < without+0.4 }},
		{"alike, 95 % used", 0.95, 1, 0, func(without, with float64) bool { return with < 2*without+1 }},
		{"alike, long answers, 85 % used", 0.85, 20, 0, func(without, with float64) bool { return with < 2*without+5 }},
		{"two are slow", 0.7, 1, 2, func(without, with float64) bool { return with < without/10 }},
		{"two are slow, 85 % used", 0.85, 1, 2, func(without, with float64) bool { return with < without/10 }},
		{"two are slow, long answers", 0.7, 20, 2, func(without, with float64) bool { return with < without/2 }},
	} {
		var p99, changes [2]float64
		for i, byLoad := range []bool{false, true} {
			f := &fleet{random: rand.New(rand.NewPCG(1, 2))}
			rate := 0.0
			for k := range 8 {
				s := simulated{slots: 8, seconds: tt.seconds}
				if k < tt.slow {
					s.seconds *= 2
				}
				f.servers = append(f.servers, s)
				rate += float64(s.slots) / s.seconds
			}
			p99[i], changes[i] = f.run(900, rate*tt.utilization, byLoad)
		}
		t.Logf("%-32s p99 of the wait: %6.2f s without weights, %6.2f s with, %.0f changes a minute", tt.name, p99[0], p99[1],
			changes[1])
		if !tt.within(p99[0], p99[1]) {
			t.Errorf("%s: p99 is %.2f s without weights and %.2f s with them", tt.name, p99[0], p99[1])
		}
	}
}
