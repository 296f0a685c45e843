package history

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// restarted returns a history that has read what another one has kept, some time later.
func restarted(t *testing.T, h *History, c *clock, later time.Duration) *History {
	t.Helper()
	var kept bytes.Buffer
	if err := h.Keep(&kept); err != nil {
		t.Fatal(err)
	}
	c.now = c.now.Add(later)
	next := New(Options{Now: c.Now})
	if err := next.Restore(&kept); err != nil {
		t.Fatal(err)
	}
	return next
}

// pageOf returns a page as JSON.
func pageOf(t *testing.T, h *History) string {
	t.Helper()
	text, err := json.Marshal(h.Page())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// busy returns a history with an hour of everything.
func busy(t *testing.T, c *clock) *History {
	t.Helper()
	h := New(Options{Now: c.Now})
	for i := range 12 * 60 {
		h.Add(c.now, "edge", counting(t, i))
		h.SetServer(c.now, "p", "10.0.0.1:8000", ServerReading{Running: 3, Waiting: float64(i % 7), Cache: .42,
			FirstTokens: float64(i), FirstTokenMS: 300 * float64(i)})
		h.AddServer(c.now, "p", "10.0.0.1:8000", 4, 1)
		h.Set(c.now, Servers, map[string]string{"pool": "p", "state": "ready"}, 3)
		c.now = c.now.Add(5 * time.Second)
	}
	return h
}

// TestKeep: after a restart the page has what it had before, and goes on.
func TestKeep(t *testing.T) {
	c := &clock{now: time.Unix(1_700_000_040, 0)}
	h := busy(t, c)
	page, rows := pageOf(t, h), of(h, 60, OfServer, "10.0.0.1:8000")+of(h, 15, OfModel, "m")+of(h, 5, OfClient, "c")
	next := restarted(t, h, c, 0)
	if got := pageOf(t, next); got != page {
		t.Errorf("the series are other ones:\n%.2000s\n%.2000s", got, page)
	}
	got := of(next, 60, OfServer, "10.0.0.1:8000") + of(next, 15, OfModel, "m") + of(next, 5, OfClient, "c")
	if got != rows || !strings.Contains(rows, "p 2832 708 ") || !strings.Contains(rows, "168000") {
		t.Errorf("the numbers are\n%s, want\n%s", got, rows)
	}
	next.SetServer(c.now, "p", "10.0.0.1:8000", ServerReading{Running: 5, Waiting: 0, Cache: .42, FirstTokens: 1e6,
		FirstTokenMS: 1e9})
	if got := of(next, 5, OfServer, "10.0.0.1:8000"); !strings.Contains(got, " 300 ") {
		t.Errorf("what a server told over all its time counts at once: %s", got)
	}
	next.Add(c.now, "edge", counting(t, 1e6))
	if got := of(next, 15, OfModel, "m"); !strings.Contains(rows, got) {
		t.Errorf("what an Envoy counted over all its time counts at once: %s", got)
	}
}

// TestKeepAway: the time in which nothing was recorded is known, and what is older than an hour goes.
func TestKeepAway(t *testing.T) {
	c := &clock{now: time.Unix(1_700_000_040, 0)}
	h := busy(t, c)
	next := restarted(t, h, c, 20*time.Minute)
	next.Set(c.now, Streams, nil, 7)
	next.SetServer(c.now, "p", "10.0.0.1:8000", ServerReading{Running: 1, Waiting: -1, Cache: -1, FirstTokens: -1})
	w := next.Window(60)
	if want := c.now.Unix() - 59*60; w.Known != 40 || w.Since != want/60*60 {
		t.Errorf("%d minutes are known since %d, want 40 since %d", w.Known, w.Since, want)
	}
	if w := next.Window(5); w.Known != 1 || w.Since/60 != c.now.Unix()/60 {
		t.Errorf("of 5 minutes %d are known since %d", w.Known, w.Since)
	}
	c.now = c.now.Add(2 * time.Second)
	p := next.Page()
	if n := len(p.Times); n > 720 || n < 700 {
		t.Errorf("%d times", n)
	}
	gaps := 0
	for _, s := range p.Series {
		if s.Name == Servers {
			for _, v := range s.Values {
				if math.IsNaN(float64(v)) {
					gaps++
				}
			}
		}
	}
	if gaps < 235 || gaps > 245 {
		t.Errorf("%d values are missing, of 20 minutes", gaps)
	}
	late := restarted(t, next, c, 61*time.Minute)
	if w := late.Window(60); w.Known != 0 || w.Since != 0 || len(w.Rows) != 0 || len(late.series) != 0 {
		t.Errorf("after an hour there are %d minutes since %d, %d rows, %d series", w.Known, w.Since, len(w.Rows),
			len(late.series))
	}
	late.Set(c.now, Streams, nil, 7)
}

// compressed compresses lines.
func compressed(lines string) io.Reader {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, lines)
	_ = z.Close()
	return &b
}

// TestRestoreDamaged: what cannot be read is an error or is left out, and never in the way.
func TestRestoreDamaged(t *testing.T) {
	c := &clock{now: time.Unix(1_700_000_040, 0)}
	head := func(newest int64) string {
		return fmt.Sprintf(`{"version":1,"width":5000000000,"first":%d,"newest":%d,"known":[1,-1,%d,99999999999]}`+"\n",
			newest-1, newest, c.now.Unix()/60)
	}
	now := c.now.Unix() / 5
	row := func(minute any) string {
		return fmt.Sprintf(`{"row":{"of":"server","name":"a","pool":"p","has":[true],"minutes":[[%v%s]]}}`+"\n", minute,
			strings.Repeat(",1", columns-1))
	}
	whole := row(c.now.Unix() / 60)
	series := func(name, label, values string) string {
		return head(now) + fmt.Sprintf(`{"series":{"name":%q,"labels":{"a":%q},"values":[%s]}}`, name, label, values)
	}
	ranged := func(first, newest int64) string {
		return fmt.Sprintf(`{"version":1,"width":5000000000,"first":%d,"newest":%d}`, first, newest)
	}
	const nothing = "0 rows, 0 series"
	for lines, want := range map[string]string{
		"":                      "EOF",
		"[]":                    "cannot unmarshal",
		"{}":                    "its form is 0",
		head(now + 1):           "later time",
		ranged(5, 1):            "more than an hour, or none",
		ranged(1, 99_999):       "more than an hour, or none",
		ranged(-9e18, 99_999):   "more than an hour, or none",
		head(now) + `{"row":`:   "unexpected EOF",
		head(now) + `{"row":3}`: "cannot unmarshal",
		head(now) + strings.Repeat(" ", maxKept) + "{}":                    "bytes or more",
		series("evil", "b", "1,1"):                                         nothing,
		series(FirstToken, "b", "1,1"):                                     nothing,
		series(Streams, "b", "1"):                                          nothing,
		series(Streams, strings.Repeat("x", 600), "1,1"):                   nothing,
		series(Streams, "b", "-1,1e300"):                                   "0 rows, 1 series",
		head(now) + strings.ReplaceAll(whole, OfServer, "x"):               nothing,
		head(now) + row(1) + row(1e300) + row(-5) + row(c.now.Unix()/60+1): nothing,
		head(now) + strings.ReplaceAll(whole, ",1", ",-1"):                 nothing,
		head(now) + strings.ReplaceAll(whole, ",1]", "]"):                  nothing,
		head(now) + whole + whole:                                          "1 rows, 0 series",
	} {
		h := New(Options{Now: c.Now})
		got := ""
		if err := h.Restore(compressed(lines)); err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprintf("%d rows, %d series", len(h.Window(60).Rows), len(h.series))
		}
		if !strings.Contains(got, want) {
			t.Errorf("%.200s\n%s, want %s", lines, got, want)
		}
		h.Set(c.now, Streams, nil, 1)
		h.SetServer(c.now, "p", "a", ServerReading{Running: 1})
		if w := h.Window(5); w.Known != 1 || len(w.Rows) != 1 {
			t.Errorf("%.200s\nafterwards it has %d minutes and %d rows", lines, w.Known, len(w.Rows))
		}
	}
	if err := New(Options{}).Restore(strings.NewReader("no gzip, but it is long enough for a head")); err == nil {
		t.Error("a text is a history")
	}
	begun := New(Options{Now: c.Now})
	begun.Set(c.now, Streams, nil, 1)
	if err := begun.Restore(compressed(head(now))); err == nil {
		t.Error("a history that has begun reads another one")
	}
}

// TestKeepLargest: the largest history fits into what is read. A quarter of its rows is tried.
func TestKeepLargest(t *testing.T) {
	const part = 4
	c := &clock{now: time.Unix(1_700_000_040, 0)}
	h := New(Options{Now: c.Now})
	random := rand.New(rand.NewPCG(1, 2))
	for i := range h.maxSeries / part {
		h.Set(c.now, Servers, map[string]string{"pool": fmt.Sprint("a-pool-with-a-name-", i)}, 1)
	}
	for i := range maxNumbers / part {
		h.rows.find(OfServer, "a-pool-with-a-name", fmt.Sprintf("192.168.100.%d:8000", i), minuteOf(c.now))
		h.rows.find(OfClient, "", fmt.Sprint("a-client-with-a-name-", i), minuteOf(c.now))
	}
	h.first = h.newest - h.length + 1
	for _, s := range h.series {
		for i := range s.values {
			s.values[i] = random.Float64() * 1e5
		}
	}
	for _, r := range h.rows.all {
		for i := range int64(kept) {
			m := r.at(minuteOf(c.now) - i)
			for j := range m.counts {
				m.counts[j] = float64(random.IntN(1e7))
			}
			for j := range m.sums {
				m.sums[j], m.most[j], m.read[j] = 12*random.Float64()*100, float64(random.IntN(100)), 12
			}
		}
	}
	var b bytes.Buffer
	if err := h.Keep(&b); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, z)
	if err != nil || part*n > maxKept*3/4 {
		t.Errorf("%d bytes, %v", n, err)
	}
	next := New(Options{Now: c.Now})
	if err := next.Restore(&b); err != nil || len(next.rows.all) != 2*maxNumbers/part || len(next.series) != 50 {
		t.Errorf("%v: %d rows, %d series", err, len(next.rows.all), len(next.series))
	}
}
