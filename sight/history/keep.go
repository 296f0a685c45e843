package history

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// A kept history is JSON, compressed by gzip. It has everything that the page shows, and nothing by which Envoys are
// told apart: after a restart each Envoy's counters begin anew, so what they gained meanwhile is missing.

const (
	// keptVersion is the version of the form. Histories of another version are not read.
	keptVersion = 1
	// maxKept is the largest history that is read, in bytes before the compression. TestKeepLargest has the most.
	maxKept = 24 << 20
	// maxName is the longest name of a row, and the longest value of a label.
	maxName = 512
	// maxLabels is how many labels a series may have.
	maxLabels = 8
	// columns is how many numbers a minute has.
	columns = 1 + int(counts) + 3*int(gauges)
)

// keptHead is the first line of a kept history. Each of the others is a [keptLine].
type keptHead struct {
	Version int `json:"version"`
	// Width is the length of an interval, in nanoseconds. First and Newest are intervals.
	Width  int64 `json:"width"`
	First  int64 `json:"first"`
	Newest int64 `json:"newest"`
	// Known are the minutes in which something came.
	Known []int64 `json:"known"`
}

type keptLine struct {
	Series *keptSeries `json:"series,omitempty"`
	Row    *keptRow    `json:"row,omitempty"`
}

// keptSeries is a series. Its values are of the intervals from First to Newest.
type keptSeries struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	Values []Value           `json:"values"`
}

// keptRow is a row. A minute is its number, its counts, and the sum, the greatest value and the number of readings of
// each gauge.
type keptRow struct {
	Of      string       `json:"of"`
	Name    string       `json:"name"`
	Pool    string       `json:"pool,omitempty"`
	Has     [counts]bool `json:"has"`
	Minutes [][]float64  `json:"minutes"`
}

// UnmarshalJSON implements [encoding/json.Unmarshaler]: null is no value.
func (v *Value) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*v = Value(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(v))
}

// Keep writes the history, so that [History.Restore] can read it after a restart. It holds nothing up for longer than
// copying a row takes.
func (h *History) Keep(w io.Writer) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	head, series, rows := h.keptHead()
	lines := json.NewEncoder(z)
	if err := lines.Encode(head); err != nil {
		return err
	}
	for _, key := range series {
		if one := h.keptSeries(key, &head); one != nil {
			if err := lines.Encode(keptLine{Series: one}); err != nil {
				return err
			}
		}
	}
	for _, key := range rows {
		if one := h.keptRow(key); one != nil {
			if err := lines.Encode(keptLine{Row: one}); err != nil {
				return err
			}
		}
	}
	return z.Close()
}

// keptHead returns the head, and the keys of all series and rows.
func (h *History) keptHead() (head keptHead, series, rows []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	head = keptHead{Version: keptVersion, Width: h.width, First: h.first, Newest: h.newest}
	for _, number := range h.rows.known {
		if number > 0 {
			head.Known = append(head.Known, number)
		}
	}
	return head, slices.Sorted(maps.Keys(h.series)), slices.Sorted(maps.Keys(h.rows.all))
}

// keptSeries copies a series. It returns nil if there is no such series any more.
func (h *History) keptSeries(key string, head *keptHead) *keptSeries {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.series[key]
	if s == nil {
		return nil
	}
	one := &keptSeries{Name: s.name, Labels: s.labels, Values: make([]Value, 0, head.Newest-head.First+1)}
	for i := head.First; i <= head.Newest; i++ {
		v := math.NaN()
		if i >= h.oldest() {
			v = *s.at(i)
		}
		one.Values = append(one.Values, Value(v))
	}
	return one
}

// keptRow copies a row. It returns nil if nothing of it is of the last hour.
func (h *History) keptRow(key string) *keptRow {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rows.all[key]
	if r == nil {
		return nil
	}
	now := minuteOf(h.now())
	one := &keptRow{Of: r.of, Name: r.name, Pool: r.pool, Has: r.has}
	for i := range r.minutes {
		if m := &r.minutes[i]; m.number > now-kept && m.number > 0 {
			one.Minutes = append(one.Minutes, m.numbers())
		}
	}
	if len(one.Minutes) == 0 {
		return nil
	}
	return one
}

// numbers returns a minute's columns.
func (m *minute) numbers() []float64 {
	all := make([]float64, 0, columns)
	all = append(append(all, float64(m.number)), m.counts[:]...)
	for i := range m.sums {
		all = append(all, math.Round(m.sums[i]*1000)/1000, m.most[i], m.read[i])
	}
	return all
}

// Restore reads what an earlier run has kept. It must be called before anything is added. A history of another form, or
// of a later time, changes nothing, and is an error. One that is damaged is read up to there.
func (h *History) Restore(r io.Reader) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("history: %w", err)
	}
	bounded := &io.LimitedReader{R: z, N: maxKept}
	lines := json.NewDecoder(bounded)
	var head keptHead
	if err := lines.Decode(&head); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.begin(&head); err != nil {
		return err
	}
	defer h.settle()
	for {
		var line keptLine
		err := lines.Decode(&line)
		switch {
		case bounded.N <= 0:
			return fmt.Errorf("history: it has %d bytes or more", maxKept)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("history: %w", err)
		case line.Series != nil:
			h.restoreSeries(line.Series, &head)
		case line.Row != nil:
			h.restoreRow(line.Row)
		}
	}
}

// begin begins with the head of a kept history, or returns an error if it cannot be gone on with.
func (h *History) begin(head *keptHead) error {
	now, minute := h.interval(h.now()), minuteOf(h.now())
	switch {
	case h.first != 0 || len(h.rows.all) > 0:
		return errors.New("history: it has begun already")
	case head.Version != keptVersion || head.Width != h.width:
		return fmt.Errorf("history: its form is %d with intervals of %d ns, not %d with %d ns", head.Version, head.Width,
			keptVersion, h.width)
	case head.Newest > now:
		return errors.New("history: it is of a later time than this machine's clock has")
	case head.First < 0 || head.First > head.Newest || head.Newest-head.First >= h.length:
		return fmt.Errorf("history: its intervals from %d to %d are more than an hour, or none", head.First, head.Newest)
	}
	if head.First > 0 && head.Newest > now-h.length {
		h.first, h.newest = head.First, head.Newest
	}
	for _, number := range head.Known {
		if lately(number, minute) {
			h.rows.known[number%kept] = number
		}
	}
	return nil
}

// lately reports whether a minute is of the last hour.
func lately(number, now int64) bool { return number > 0 && number > now-kept && number <= now }

func (h *History) restoreSeries(one *keptSeries, head *keptHead) {
	_, known := kinds[one.Name]
	if h.first == 0 || !known && one.Name != buckets || one.Name == FirstToken || !shortLabels(one.Labels) ||
		int64(len(one.Values)) != head.Newest-head.First+1 {
		return
	}
	s := h.find(keyOf(one.Name, one.Labels), one.Name, one.Labels)
	if s == nil {
		return // no room
	}
	for j, v := range one.Values {
		if v >= 0 && v <= most {
			at := head.First + int64(j)
			*s.at(at) = float64(v)
			s.newest = at
		}
	}
}

func shortLabels(labels map[string]string) bool {
	for name, value := range labels {
		if len(name) > maxName || len(value) > maxName {
			return false
		}
	}
	return len(labels) <= maxLabels
}

func (h *History) restoreRow(one *keptRow) {
	if !slices.Contains([]string{OfServer, OfPool, OfModel, OfClient}, one.Of) || len(one.Name) > maxName ||
		len(one.Pool) > maxName {
		return
	}
	now := minuteOf(h.now())
	for _, numbers := range one.Minutes {
		if len(numbers) != columns || slices.Min(numbers) < 0 || slices.Max(numbers) > most ||
			!lately(int64(numbers[0]), now) {
			continue
		}
		r := h.rows.find(one.Of, one.Pool, one.Name, now)
		if r == nil {
			return // no room
		}
		r.has = one.Has
		r.at(int64(numbers[0])).set(numbers)
	}
}

// settle makes each row as old as its newest minute.
func (h *History) settle() {
	for _, r := range h.rows.all {
		r.newest = 0
		for i := range r.minutes {
			r.newest = max(r.newest, r.minutes[i].number)
		}
	}
}

// set sets a minute by its columns.
func (m *minute) set(numbers []float64) {
	n := copy(m.counts[:], numbers[1:])
	for i, at := 0, 1+n; i < gauges; i, at = i+1, at+3 {
		m.sums[i], m.most[i], m.read[i] = numbers[at], numbers[at+1], numbers[at+2]
	}
}
