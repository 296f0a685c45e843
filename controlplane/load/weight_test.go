package load

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// servers returns servers with so many running requests. A negative number is unknown.
func servers(running ...float64) []Server[int] {
	var all []Server[int]
	for i, n := range running {
		l := None()
		if n >= 0 {
			l.Sampled, l.Running, l.Waiting = start, n, 0
		}
		all = append(all, Server[int]{Key: i, Load: l, Share: 1})
	}
	return all
}

func values(all []Weight) []uint32 {
	var v []uint32
	for _, w := range all {
		v = append(v, w.Value)
	}
	return v
}

// TestWeigh checks the weights of loads beside each other.
func TestWeigh(t *testing.T) {
	for name, tt := range map[string]struct {
		running []float64
		want    []uint32
	}{
		"all alike":                 {[]float64{10, 10, 10}, []uint32{100, 100, 100}},
		"all idle but one request":  {[]float64{0, 0, 1}, []uint32{100, 100, 100}},
		"a little more":             {[]float64{20, 20, 25}, []uint32{100, 100, 100}},
		"twice as much":             {[]float64{20, 20, 44}, []uint32{100, 100, 50}},
		"ten times as much":         {[]float64{20, 20, 20, 200}, []uint32{100, 100, 100, 25}},
		"less":                      {[]float64{0, 20, 20}, []uint32{141, 100, 100}},
		"nonsense":                  {[]float64{10, 10, 10, 1e9}, []uint32{100, 100, 100, 25}},
		"unknown is in the middle":  {[]float64{20, 20, -1, 44}, []uint32{100, 100, 100, 50}},
		"nothing is known":          {[]float64{-1, -1}, []uint32{100, 100}},
		"one server":                {[]float64{500}, []uint32{100}},
		"two that share everything": {[]float64{0, 60}, []uint32{141, 50}},
		"none":                      {nil, nil},
	} {
		var w Weigher[int]
		last := values(w.Weigh(start, servers(tt.running...), ByLoad))
		for range len(weights) {
			next := values(w.Weigh(start, servers(tt.running...), ByLoad))
			for i := range next {
				if was, is := slices.Index(weights[:], last[i]), slices.Index(weights[:], next[i]); is < was-1 || is > was+1 {
					t.Errorf("%s: a weight goes from %d to %d", name, last[i], next[i])
				}
			}
			last = next
		}
		if !slices.Equal(last, tt.want) {
			t.Errorf("%s: got %d, want %d", name, last, tt.want)
		}
	}
}

// TestReasons checks that a weight that is not the middle's says why.
func TestReasons(t *testing.T) {
	var w Weigher[int]
	all := servers(10, 10, 90, -1, 90)
	all[1].Share, all[4].Share = 0.5, 0.1
	got := w.Weigh(start, all, ByLoad)
	for i, want := range []string{"", "it is new: 50 % of its share", "its load is 90, and the middle of the pool 50",
		"its load is unknown", "it is new: 10 % of its share; its load is 90"} {
		if !strings.HasPrefix(got[i].Reason, want) || want == "" && got[i].Value == Middle && got[i].Reason != "" {
			t.Errorf("%d: got %q, want %q", i, got[i].Reason, want)
		}
	}
	// A stale load is unknown. A pool without weights by load says nothing of it.
	if got := w.Weigh(start.Add(StaleAfter), servers(10, 90), ByLoad); got[1].Reason != "its load is unknown" {
		t.Errorf("got %+v", got)
	}
	if got := w.Weigh(start, servers(10, 90), ByShare); got[1] != (Weight{Value: Middle}) {
		t.Errorf("got %+v", got)
	}
}

// TestCounted checks what makes a load larger than its running requests.
func TestCounted(t *testing.T) {
	for _, tt := range []struct {
		load Load
		want float64
	}{
		{Load{Running: 10, Waiting: 0, Cache: 0.5, Preemptions: 0}, 10},
		{Load{Running: 10, Waiting: 5, Cache: -1, Preemptions: -1}, 15},
		{Load{Running: -1, Waiting: 5, Cache: -1, Preemptions: -1}, 5},
		{Load{Running: 10, Waiting: 0, Cache: 0.9, Preemptions: 0}, 10},
		{Load{Running: 10, Waiting: 0, Cache: 1, Preemptions: 0}, 15},
		{Load{Running: 10, Waiting: 0, Cache: 1e9, Preemptions: 0}, 15},
		{Load{Running: 10, Waiting: 0, Cache: 1, Preemptions: 1}, 15},
	} {
		if got := counted(&tt.load); got < tt.want-1e-9 || got > tt.want+1e-9 {
			t.Errorf("%+v: got %g, want %g", tt.load, got, tt.want)
		}
	}
}

// TestHysteresis checks that a weight does not change back and forth with a load that moves around a border.
func TestHysteresis(t *testing.T) {
	var w Weigher[int]
	changes := 0
	last := uint32(Middle)
	for i := range 1000 {
		load := 29.0 // 1.4 times the others, with the few that do not matter
		if i%2 == 0 {
			load = 31
		}
		got := w.Weigh(start, servers(20, 20, 20, load), ByLoad)[3].Value
		if got != last {
			changes++
		}
		last = got
	}
	if changes > 1 {
		t.Errorf("the weight changed %d times", changes)
	}
	// It comes back only when the load is the middle's again.
	w.Weigh(start, servers(20, 20, 20, 40), ByLoad)
	if got := w.Weigh(start, servers(20, 20, 20, 24), ByLoad)[3].Value; got != 71 {
		t.Errorf("between both: %d", got)
	}
	if got := w.Weigh(start, servers(20, 20, 20, 20.1), ByLoad)[3].Value; got != Middle {
		t.Errorf("like the others: %d", got)
	}
}

// TestHold checks that no weight moves for a change of something else than loads, and that a new server has the
// middle's.
func TestHold(t *testing.T) {
	var w Weigher[int]
	before := values(w.Weigh(start, servers(20, 20, 20, 90), ByLoad))
	got := values(w.Weigh(start, servers(20, 20, 20, 200, 200), ByEarlierLoad))
	if want := append(before, Middle); before[3] != 71 || !slices.Equal(got, want) {
		t.Errorf("got %d, want %d", got, want)
	}
}

// TestForget checks that servers that have gone leave nothing behind.
func TestForget(t *testing.T) {
	var w Weigher[int]
	w.Weigh(start, servers(10, 10, 90), ByLoad)
	if len(w.levels) == 0 {
		t.Fatal("no server differs")
	}
	w.Forget(func(int) bool { return false })
	if len(w.levels) != 0 {
		t.Errorf("left: %v", w.levels)
	}
}

// TestShare checks that the share of a new server grows in steps to all of it.
func TestShare(t *testing.T) {
	last, steps := 0.0, 0
	for s := range 101 {
		share := Share(time.Duration(s)*time.Second, 100*time.Second)
		if share < last {
			t.Fatalf("it falls from %g to %g", last, share)
		}
		if share != last {
			steps++
		}
		last = share
	}
	if last != 1 || steps != 5 || Share(0, 0) != 1 {
		t.Errorf("it ends at %g after %d steps", last, steps)
	}
}

// TestChangesPerMinute says how often weights change in a pool whose servers' loads move as in a busy pool,
// and checks that most samples change none.
func TestChangesPerMinute(t *testing.T) {
	const n, minutes = 2000, 5
	random := rand.New(rand.NewPCG(1, 2))
	running := make([]float64, n)
	meters := make([]Meter, n)
	for i := range running {
		running[i] = 40
	}
	var w Weigher[int]
	last := make([]uint32, n)
	changed, pushes := 0, 0
	for second := 0; second < 60*minutes; second += 2 {
		now := start.Add(time.Duration(second) * time.Second)
		all := make([]Server[int], n)
		for i := range all {
			// Requests come and end as they do at 40 running ones of 20 seconds each.
			running[i] += float64(poisson(random, 4) - poisson(random, running[i]/10))
			running[i] = max(running[i], 0)
			meters[i].Add(now, told(int(running[i]), 0))
			all[i] = Server[int]{Key: i, Load: meters[i].Load(), Share: 1}
		}
		if second%6 != 0 {
			continue
		}
		before := changed
		for i, got := range w.Weigh(now, all, ByLoad) {
			if got.Value != last[i] && last[i] != 0 {
				changed++
			}
			last[i] = got.Value
		}
		if changed > before {
			pushes++
		}
	}
	other := 0
	for _, v := range last {
		if v != Middle {
			other++
		}
	}
	t.Logf("2,000 servers with 40 requests each: %d changes and %d pushes in a minute, of %d samples; %d servers have "+
		"another weight than the middle's", changed/minutes, pushes/minutes, n*30, other)
	if changed/minutes > n*30/50 {
		t.Errorf("%d changes a minute", changed/minutes)
	}
}

func poisson(random *rand.Rand, mean float64) int {
	n := 0
	for t := random.ExpFloat64(); t < mean; t += random.ExpFloat64() {
		n++
	}
	return n
}

func BenchmarkWeigh(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	running := make([]float64, 10_000)
	for i := range running {
		running[i] = float64(random.IntN(100))
	}
	all := servers(running...)
	var w Weigher[int]
	b.ReportAllocs()
	for b.Loop() {
		w.Weigh(start, all, ByLoad)
	}
}
