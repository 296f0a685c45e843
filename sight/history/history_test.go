package history

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// start is the beginning of an interval.
var start = time.Unix(1_700_000_000, 0)

// clock is a clock that a test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func newHistory(t *testing.T) (*History, *clock) {
	t.Helper()
	c := &clock{start}
	return New(Options{Now: c.Now}), c
}

// envoy is the metrics of an Envoy, as /stats/prometheus has them.
func envoy(t *testing.T, tokens, ok, failed float64) Families {
	t.Helper()
	all, err := Parse(strings.NewReader(fmt.Sprintf(`# TYPE harmony_tokens_total counter
harmony_tokens_total{model="a",kind="final"} %g
harmony_tokens_total{model="b",kind="final"} %g
# TYPE harmony_requests_total counter
harmony_requests_total{model="a",api="chat",status="200"} %g
harmony_requests_total{model="a",api="chat",status="503"} %g
# TYPE envoy_http_downstream_rq_active gauge
envoy_http_downstream_rq_active{envoy_http_conn_manager_prefix="admin"} 1
envoy_http_downstream_rq_active{envoy_http_conn_manager_prefix="harmony"} 3
`, tokens/4, tokens*3/4, ok, failed)))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// values returns the values of one series of a page.
func values(t *testing.T, h *History, name, label string) []Value {
	t.Helper()
	for _, s := range h.Page().Series {
		if s.Name == name && (label == "" || strings.Contains(fmt.Sprint(s.Labels), ":"+label+"]")) {
			return s.Values
		}
	}
	t.Fatalf("there is no series %s %s in %+v", name, label, h.Page().Series)
	return nil
}

func same(got []Value, want ...float64) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		if a, b := float64(got[i]), want[i]; math.Abs(a-b) > 1e-9 && !(math.IsNaN(a) && math.IsNaN(b)) {
			return false
		}
	}
	return true
}

// TestRates: counters become rates, of all models and Envoys together.
func TestRates(t *testing.T) {
	h, c := newHistory(t)
	for i, tokens := range []float64{1000, 1100, 1400} {
		for _, from := range []string{"one", "two"} {
			h.Add(c.now, from, envoy(t, tokens, float64(5*i), 0))
		}
		c.now = c.now.Add(5 * time.Second)
	}
	c.now = c.now.Add(time.Second)
	if got := values(t, h, TokensPerSecond, "final"); !same(got, 40, 120, math.NaN()) {
		t.Errorf("tokens: %v", got)
	}
	if got := values(t, h, RequestsPerSecond, "2xx"); !same(got, 2, 2, math.NaN()) {
		t.Errorf("requests: %v", got)
	}
	if got := values(t, h, Streams, ""); !same(got, 6, 6, 6) {
		t.Errorf("streams: %v", got)
	}
	if l, ok := h.Latest(); !ok || l.Time != start.Unix()+10 {
		t.Errorf("the latest is %+v, %v", l, ok)
	}
}

// TestRestart: an Envoy that begins again at 0 gives no negative rate, and what it has counted since is not lost.
func TestRestart(t *testing.T) {
	h, c := newHistory(t)
	for _, counts := range [][2]float64{{100, 10}, {200, 20}, {50, 25}, {80, 26}} {
		h.Add(c.now, "one", envoy(t, counts[0], counts[1], 0))
		c.now = c.now.Add(5 * time.Second)
	}
	c.now = c.now.Add(time.Second)
	if got := values(t, h, TokensPerSecond, "final"); !same(got, 20, 10, 6, math.NaN()) {
		t.Errorf("tokens: %v", got)
	}
	// The second counter is larger than before the restart, and still counts from 0.
	if got := values(t, h, RequestsPerSecond, "2xx"); !same(got, 2, 5, 0.2, math.NaN()) {
		t.Errorf("requests: %v", got)
	}
}

// TestSpread: what an Envoy sends in the middle of an interval belongs to two of them.
func TestSpread(t *testing.T) {
	h, c := newHistory(t)
	c.now = start.Add(3 * time.Second)
	h.Add(c.now, "one", envoy(t, 0, 0, 0))
	c.now = start.Add(8 * time.Second)
	h.Add(c.now, "one", envoy(t, 50, 0, 0))
	c.now = start.Add(28 * time.Second) // it was not heard of for 20 seconds
	h.Add(c.now, "one", envoy(t, 250, 0, 0))
	c.now = start.Add(31 * time.Second)
	if got := values(t, h, TokensPerSecond, "final"); !same(got, 4, 4+6, 10, 10, 10, 6) {
		t.Errorf("tokens: %v", got)
	}
}

// TestFirstCount: a counter that appears has counted from 0, and an Envoy that appears has not.
func TestFirstCount(t *testing.T) {
	h, c := newHistory(t)
	h.Add(c.now, "one", nil)
	c.now = c.now.Add(5 * time.Second)
	h.Add(c.now, "one", envoy(t, 100, 0, 0))
	h.Add(c.now, "two", envoy(t, 1e9, 0, 0))
	c.now = c.now.Add(6 * time.Second)
	if got := values(t, h, TokensPerSecond, "final"); !same(got, 20, math.NaN()) {
		t.Errorf("tokens: %v", got)
	}
}

// TestGone: the requests of an Envoy that is not heard of any more count no longer.
func TestGone(t *testing.T) {
	h, c := newHistory(t)
	h.Add(c.now, "gone", envoy(t, 0, 0, 0))
	for range 6 {
		h.Add(c.now, "here", envoy(t, 0, 0, 0))
		c.now = c.now.Add(5 * time.Second)
	}
	c.now = c.now.Add(time.Second)
	if got := values(t, h, Streams, ""); !same(got, 6, 6, 6, 6, 3, 3) {
		t.Errorf("streams: %v", got)
	}
}

// TestQuantiles: as Prometheus estimates them.
func TestQuantiles(t *testing.T) {
	h, c := newHistory(t)
	text := func(to50, to100, all int) Families {
		f, err := Parse(strings.NewReader(fmt.Sprintf(`# TYPE harmony_time_to_first_token_milliseconds histogram
harmony_time_to_first_token_milliseconds_bucket{le="50"} %d
harmony_time_to_first_token_milliseconds_bucket{le="100"} %d
harmony_time_to_first_token_milliseconds_bucket{le="+Inf"} %d
harmony_time_to_first_token_milliseconds_sum 1
harmony_time_to_first_token_milliseconds_count %d
`, to50, to100, all, all)))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	h.Add(c.now, "one", text(10, 10, 10))
	c.now = c.now.Add(5 * time.Second)
	h.Add(c.now, "one", text(20, 26, 30))
	c.now = c.now.Add(6 * time.Second)
	if got := values(t, h, FirstToken, "0.5"); !same(got, 50, 50) { // the last minute
		t.Errorf("the median is %v", got)
	}
	if got := values(t, h, FirstToken, "0.95"); !same(got, 100, 100) {
		t.Errorf("the 95th is %v", got)
	}
	c.now = c.now.Add(2 * time.Minute)
	h.Set(c.now, Envoys, nil, 1)
	c.now = c.now.Add(6 * time.Second)
	if l, _ := h.Latest(); !strings.Contains(fmt.Sprint(l.Series), "0.95] NaN") {
		t.Errorf("without requests: %v", l.Series)
	}
}

// TestBounds: an hour of the rudest Envoys leaves the memory as it is, and their values are not shown.
func TestBounds(t *testing.T) {
	h, c := newHistory(t)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2 * 720 {
		rude := Families{{Name: "harmony_tokens_total"}, {Name: "harmony_recoveries_total"}, {Name: "harmony_requests_total"},
			{Name: "envoy_http_downstream_rq_active"}, {Name: "harmony_time_to_first_token_milliseconds"}, {Name: "x"}}
		for j := range rude {
			for range 50 {
				name := fmt.Sprint(r.Uint64())
				n := []float64{-1, math.NaN(), math.Inf(1), 1e300, r.Float64()}[r.IntN(5)]
				rude[j].Samples = append(rude[j].Samples, Sample{Value: n,
					Labels:  map[string]string{"kind": name, "status": name, "model": name, managerLabel: name},
					Buckets: []Bucket{{n, n}, {50, n}}})
			}
		}
		h.Add(c.now, "rude", rude)
		h.Add(c.now, fmt.Sprint("rude", i%5000), rude)
		for j := range 10 {
			h.Add(c.now, fmt.Sprintf("new %d %d", i, j), nil)
		}
		h.Set(c.now, Servers, map[string]string{"pool": fmt.Sprint(i), "state": "ready"}, 1)
		c.now = c.now.Add(5 * time.Second)
	}
	if len(h.series) > 200 || len(h.senders) > 4000 || h.Dropped() == 0 {
		t.Errorf("%d series, %d Envoys, %d dropped", len(h.series), len(h.senders), h.Dropped())
	}
	p := h.Page()
	if len(p.Times) != 719 { // all but the present one
		t.Errorf("%d times", len(p.Times))
	}
	for _, s := range p.Series {
		if len(s.Values) != len(p.Times) {
			t.Errorf("%s has %d values", s.Name, len(s.Values))
		}
		for _, v := range s.Values {
			if v < 0 {
				t.Fatalf("%s has the value %v", s.Name, v)
			}
		}
	}
	text, err := json.Marshal(p)
	if err != nil || len(text) > 2<<20 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// TestPlaces: when there is no room for more Envoys, the place of one that is silent goes to another.
func TestPlaces(t *testing.T) {
	c := &clock{start}
	h := New(Options{Now: c.Now, MaxSenders: 2})
	for range 2 { // an Envoy that is not taken in counts as dropped
		h.Add(c.now, "stays", envoy(t, 0, 0, 0))
		h.Add(c.now, "gone", envoy(t, 0, 0, 0))
		h.Add(c.now, "new", envoy(t, 0, 0, 0))
	}
	if h.Dropped() != 2 {
		t.Errorf("%d are dropped", h.Dropped())
	}
	for tokens := range 8 {
		c.now = c.now.Add(5 * time.Second)
		h.Add(c.now, "stays", envoy(t, 0, 0, 0))
		h.Add(c.now, "new", envoy(t, float64(100*tokens), 0, 0))
	}
	c.now = c.now.Add(6 * time.Second)
	got := values(t, h, TokensPerSecond, "final")
	if last := got[len(got)-2]; last != 20 {
		t.Errorf("the new Envoy's tokens are %v", got)
	}
}

// TestClock: a clock that jumps loses values and nothing else.
func TestClock(t *testing.T) {
	h, c := newHistory(t)
	for i, jump := range []time.Duration{0, 24 * time.Hour, -48 * time.Hour, 24*time.Hour + 5*time.Second, 1e6 * time.Hour} {
		c.now = c.now.Add(jump)
		h.Add(c.now, "one", envoy(t, float64(100*i), 0, 0))
		h.Set(c.now, Envoys, nil, 1)
		if p := h.Page(); len(p.Times) > 720 {
			t.Errorf("%d times", len(p.Times))
		}
		h.Latest()
	}
}
