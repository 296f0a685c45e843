package history

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
)

// text is a number as a test writes it; "-" is one that is not known.
func text(n *float64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

// of returns the numbers of one row as text, or "" if it is not there.
func of(h *History, minutes int, kind, name string) string {
	for _, n := range h.Window(minutes).Rows {
		if n.Of == kind && n.Name == name {
			var all []string
			for _, v := range []*float64{n.Requests, n.Errors, n.Limited, n.TokensIn, n.TokensOut, n.MissedTokens, n.FirstTokenMS, n.Running,
				n.RunningMost, n.Waiting, n.WaitingMost, n.Cache, n.CacheMost} {
				all = append(all, text(v))
			}
			return n.Pool + " " + strings.Join(all, " ")
		}
	}
	return ""
}

// counting is the metrics of an Envoy after so many requests.
func counting(t *testing.T, n int) Families {
	t.Helper()
	all, err := Parse(strings.NewReader(fmt.Sprintf(`# TYPE harmony_requests_total counter
harmony_requests_total{model="m",api="chat",status="200"} %d
harmony_requests_total{model="m",api="chat",status="503"} %d
harmony_requests_total{model="m",api="chat",status="429"} %d
# TYPE harmony_tokens_total counter
harmony_tokens_total{model="m",kind="prompt"} %d
harmony_tokens_total{model="m",kind="cached"} 9999
harmony_tokens_total{model="m",kind="final"} %d
# TYPE harmony_pool_requests_total counter
harmony_pool_requests_total{pool="p",policy="session",class="2xx"} %d
harmony_pool_requests_total{pool="p",policy="session",class="5xx"} %d
# TYPE harmony_client_requests_total counter
harmony_client_requests_total{client="c",class="served"} %d
harmony_client_requests_total{client="c",class="limited"} %d
# TYPE harmony_client_tokens_total counter
harmony_client_tokens_total{client="c"} %d
# TYPE harmony_cache_missed_tokens_total counter
harmony_cache_missed_tokens_total{model="m",kind="tools"} %d
harmony_cache_missed_tokens_total{model="m",kind="date"} %d
# TYPE harmony_client_cache_missed_tokens_total counter
harmony_client_cache_missed_tokens_total{client="c",kind="tools"} %d
`, 10*n, n, 2*n, 1000*n, 100*n, 10*n, n, 10*n, 2*n, 1100*n, 300*n, 10*n, 300*n)))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestNumbers: what Envoys count is added up by model, pool and client, within a window. What an Envoy has counted
// before it was known does not count; what it has counted since it was started again does.
func TestNumbers(t *testing.T) {
	h, c := newHistory(t)
	wants := func(when string, minutes int, kind, name, want string) {
		t.Helper()
		if got := of(h, minutes, kind, name); got != want {
			t.Errorf("%s: %s %s has %q, want %q", when, kind, name, got, want)
		}
	}
	h.Add(c.now, "one", counting(t, 7))
	wants("the first reading", 5, OfModel, "m", " 0 0 0 0 0 0 - - - - - - -")
	h.Add(c.now, "two", Families{})
	c.now = c.now.Add(time.Minute)
	h.Add(c.now, "one", counting(t, 9)) // 2 more
	h.Add(c.now, "two", counting(t, 1)) // its first counts
	wants("two Envoys", 5, OfModel, "m", " 39 3 6 3000 300 930 - - - - - - -")
	wants("two Envoys", 5, OfPool, "p", " 33 3 - - - - - - - - - - -")
	wants("two Envoys", 5, OfClient, "c", " 36 0 6 - 3300 900 - - - - - - -")
	c.now = c.now.Add(10 * time.Minute)
	h.Add(c.now, "one", counting(t, 4)) // it was started again
	wants("a restart", 5, OfModel, "m", " 52 4 8 4000 400 1240 - - - - - - -")
	wants("a restart, in a quarter", 15, OfModel, "m", " 91 7 14 7000 700 2170 - - - - - - -")
	c.now = c.now.Add(45 * time.Minute)
	wants("later", 5, OfModel, "m", "")
	wants("later, in the hour", 60, OfModel, "m", " 91 7 14 7000 700 2170 - - - - - - -")
	c.now = c.now.Add(20 * time.Minute)
	wants("over", 60, OfModel, "m", "")
}

// TestServersNumbers: gauges of a server are averaged, and its counters begin again with it.
func TestServersNumbers(t *testing.T) {
	h, c := newHistory(t)
	h.SetServer(c.now, "p", "10.0.0.1:8000", ServerReading{Running: 2, Waiting: 0, Cache: .25, FirstTokens: 100,
		FirstTokenMS: 9e6})
	h.SetServer(c.now, "p", "10.0.0.1:8000", ServerReading{Running: 4, Waiting: 3, Cache: .75, FirstTokens: 110,
		FirstTokenMS: 9e6 + 2000})
	h.SetServer(c.now, "p", "10.0.0.1:8000", ServerReading{Running: -1, Waiting: -1, Cache: -1, FirstTokens: 1,
		FirstTokenMS: 50})
	h.SetServer(c.now, "q", "10.0.0.2:8000", ServerReading{Running: 1, Waiting: -1, Cache: -1, FirstTokens: -1,
		FirstTokenMS: -1})
	if got, want := of(h, 5, OfServer, "10.0.0.1:8000"), "p - - - - - - 200 3 4 1.5 3 0.5 0.75"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := of(h, 5, OfServer, "10.0.0.2:8000"), "q - - - - - - - 1 1 - - - -"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	h.AddServer(c.now, "q", "10.0.0.2:8000", 10, 3)
	h.AddServer(c.now, "q", "10.0.0.2:8000", 5, 0)
	for _, wrong := range [][2]float64{{-1, -1}, {1, 2}, {math.Inf(1), 0}, {math.NaN(), 0}, {2 * most, 1}} {
		h.AddServer(c.now, "q", "10.0.0.2:8000", wrong[0], wrong[1])
	}
	if got, want := of(h, 5, OfServer, "10.0.0.2:8000"), "q 15 3 - - - - - 1 1 - - - -"; got != want {
		t.Errorf("with what Envoys had: got %q, want %q", got, want)
	}
	if h.AddServer(c.now, "p", "10.0.0.2:8000", 1, 1); len(h.Window(5).Rows) != 2 {
		t.Error("an Envoy made a row of a server that is not known")
	}
}

// TestNumbersAreBounded: neither an Envoy nor many can take all the room, and servers have their own.
func TestNumbersAreBounded(t *testing.T) {
	h, c := newHistory(t)
	for envoy := range 20 {
		f := Family{Name: "harmony_requests_total"}
		for i := range 10_000 {
			f.Samples = append(f.Samples, Sample{Value: 1, Labels: map[string]string{
				"model": fmt.Sprint("model ", envoy, " ", i), "status": "200"}})
		}
		from := fmt.Sprint(envoy)
		h.Add(c.now, from, Families{f})
		if n := len(h.senders[from].numbers); n > maxCounted {
			t.Fatalf("%d numbers of one Envoy", n)
		}
	}
	if n := len(h.Window(5).Rows); n != maxNumbers {
		t.Errorf("%d rows", n)
	}
	for i := range 2 * maxNumbers {
		h.SetServer(c.now, "p", fmt.Sprint(i), ServerReading{Running: 1})
	}
	if n := len(h.Window(5).Rows); n != 2*maxNumbers || h.Dropped() < maxNumbers {
		t.Errorf("%d rows with servers", n)
	}
	c.now = c.now.Add(2 * time.Hour)
	h.SetServer(c.now, "p", "new", ServerReading{Running: 1})
	if n := len(h.Window(60).Rows); n != 1 || len(h.rows.all) != 1 || h.rows.servers != 1 {
		t.Errorf("%d rows two hours later, %d of servers", len(h.rows.all), h.rows.servers)
	}
}
