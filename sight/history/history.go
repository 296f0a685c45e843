package history

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// Options are the settings of a [History]. The zero value is valid.
type Options struct {
	// Interval is the time between two values. 0 means 5 seconds.
	Interval time.Duration
	// Length is how far back values are kept. 0 means an hour.
	Length time.Duration
	// Delay is how long after an interval its values may still come. 0 means a second, for metrics that are read at the
	// intervals' ends. Envoys that send their metrics need an interval more.
	Delay time.Duration
	// MaxSeries is how many series there may be. 0 means 200. Further ones are dropped and counted.
	MaxSeries int
	// MaxSenders is how many Envoys may be told apart. 0 means 4,000. Further ones are dropped and counted.
	MaxSenders int
	// Now is the clock. If it is nil, it is [time.Now].
	Now func() time.Time
}

const (
	// freshFor is for how many intervals an Envoy's gauges count after it sent them. If there is no room for more Envoys,
	// it has its place as long.
	freshFor = 3
	// quantileOver is over how many intervals a quantile is taken.
	quantileOver = 12
)

// History holds the series of the last hour. Its methods may be called by several goroutines at once.
type History struct {
	width      int64   // the length of an interval, in nanoseconds
	seconds    float64 // the same in seconds
	length     int64   // how many intervals are kept
	delay      time.Duration
	maxSeries  int
	maxSenders int
	now        func() time.Time

	mu      sync.Mutex
	pools   map[string]bool // those of which failed attempts are counted; a value never changes
	failed  failures
	rows    rows // of the numbers
	series  map[string]*series
	senders map[string]*sender
	first   int64   // the first interval with a value; 0 before it
	newest  int64   // the newest interval
	streams float64 // running requests of all Envoys together
	known   int     // how many Envoys have told their running requests lately
	dropped uint64
}

// sender is what is remembered of one Envoy.
type sender struct {
	at       time.Time       // when its metrics came last
	pools    map[string]bool // the pools that were known then
	counters map[string]float64
	streams  float64 // NaN: not known, or too old
	numbers  map[*row]*counted
}

// New returns an empty [History].
func New(o Options) *History {
	interval := cmp.Or(o.Interval, 5*time.Second)
	h := &History{
		width: int64(interval), seconds: interval.Seconds(), length: max(1, int64(cmp.Or(o.Length, time.Hour)/interval)),
		delay: cmp.Or(o.Delay, time.Second), maxSeries: cmp.Or(o.MaxSeries, 200),
		maxSenders: cmp.Or(o.MaxSenders, 4000), now: o.Now,
		series: map[string]*series{}, senders: map[string]*sender{}, failed: failures{},
	}
	if h.now == nil {
		h.now = time.Now
	}
	return h
}

// Interval returns the time between two values.
func (h *History) Interval() time.Duration { return time.Duration(h.width) }

// Dropped returns how many values were dropped, because they are none, or because there are too many series or Envoys.
func (h *History) Dropped() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dropped
}

// Add adds the metrics of one Envoy, which from tells apart from others. The gain of its counters since the last
// time is spread over the time between. The first time there is nothing to compare with, and nothing is gained. An
// Envoy of whose counters one has become smaller has been started again, and has counted from 0.
func (h *History) Add(at time.Time, from string, families Families) {
	h.AddOf(at, from, time.Time{}, families)
}

// AddOf is Add for an Envoy whose counters have begun at a time. The failed attempts of one that has begun lately count
// the first time too.
func (h *History) AddOf(at time.Time, from string, began time.Time, families Families) {
	pools := h.knownPools()
	r, dropped := read(families, pools)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropped += uint64(dropped)
	h.advance(h.interval(at))
	s := h.senders[from]
	first := s == nil
	if first {
		if s = h.newSender(from, at); s == nil {
			h.dropped++
			return
		}
		for key, c := range r.counters {
			s.counters[key] = c.value
			if c.name == failedAttempts && at.Sub(began) < FailedFor {
				h.failed.add(c.labels[poolLabel], h.interval(at), c.value)
			}
		}
	} else {
		h.gain(s, at, r)
	}
	h.addNumbers(s, at, r.numbers, first)
	s.pools = pools
	h.setStreams(s, r.streams)
	if at.After(s.at) {
		s.at = at
	}
	if h.known > 0 {
		h.set(at, Streams, nil, h.streams)
	}
}

// gain adds what an Envoy's counters have gained.
func (h *History) gain(s *sender, at time.Time, r reading) {
	for key, c := range r.counters {
		if before, ok := s.counters[key]; ok && c.value < before {
			clear(s.counters)
			break
		}
	}
	if !at.After(s.at) {
		at = s.at // two readings at once: the gain belongs to the present interval
	}
	for key, c := range r.counters {
		before, known := s.counters[key]
		s.counters[key] = c.value
		if c.name == failedAttempts {
			if pool := c.labels[poolLabel]; known || s.pools[pool] {
				h.failed.add(pool, h.interval(at), c.value-before)
			}
		} else if to := h.find(key, c.name, c.labels); to != nil {
			h.spread(to, s.at, at, c.value-before)
		}
	}
}

// spread adds an increase to the intervals between two times, to each by the time of it that is between them.
func (h *History) spread(to *series, begin, end time.Time, increase float64) {
	first, last := max(h.interval(begin), h.oldest()), h.interval(end)
	if first >= last {
		h.put(to, last, increase)
		return
	}
	from, until := begin.UnixNano(), end.UnixNano()
	for i := first; i <= last; i++ {
		if part := min(until, (i+1)*h.width) - max(from, i*h.width); part > 0 {
			h.put(to, i, increase*float64(part)/float64(until-from))
		}
	}
}

func (h *History) put(to *series, interval int64, increase float64) {
	if interval >= h.oldest() && interval <= h.newest {
		to.add(interval, increase)
	}
}

// Set sets a gauge.
func (h *History) Set(at time.Time, name string, labels map[string]string, value float64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.advance(h.interval(at))
	h.set(at, name, labels, value)
}

func (h *History) set(at time.Time, name string, labels map[string]string, value float64) {
	interval := h.interval(at)
	if math.IsNaN(value) || math.IsInf(value, 0) || interval < h.oldest() {
		h.dropped++
		return
	}
	if s := h.find(keyOf(name, labels), name, labels); s != nil {
		*s.at(interval) = value
		s.newest = max(s.newest, interval)
	}
}

// find returns the series of a key. It makes one if there is room, and else returns nil.
func (h *History) find(key, name string, labels map[string]string) *series {
	if s := h.series[key]; s != nil {
		return s
	}
	if len(h.series) >= h.maxSeries {
		h.dropped++
		return nil
	}
	s := &series{name: name, labels: maps.Clone(labels), kind: kinds[name], values: make([]float64, h.length)}
	if s.labels == nil {
		s.labels = map[string]string{}
	}
	if name == buckets {
		s.kind.per = h.seconds // the increases themselves
	}
	for i := range s.values {
		s.values[i] = math.NaN()
	}
	h.series[key] = s
	return s
}

// interval returns the number of the interval in which a time is.
func (h *History) interval(t time.Time) int64 {
	ns := t.UnixNano()
	if ns < 0 {
		return 0 // a clock that is not set yet
	}
	return ns / h.width
}

// oldest returns the oldest interval that is kept.
func (h *History) oldest() int64 { return h.newest - h.length + 1 }

// advance makes room for an interval, and forgets what is too old by then.
func (h *History) advance(to int64) {
	if h.first == 0 {
		h.first, h.newest = to, to
	}
	if to <= h.newest {
		return
	}
	for key, s := range h.series {
		for i := max(h.newest+1, to-h.length+1); i <= to; i++ {
			*s.at(i) = math.NaN()
		}
		if s.newest <= to-h.length {
			delete(h.series, key)
		}
	}
	h.newest = to
	h.first = max(h.first, h.oldest())
	h.failed.forget(to - int64(FailedFor)/h.width)
	full := len(h.senders) >= h.maxSenders
	for from, s := range h.senders {
		silent := to - h.interval(s.at)
		if silent > freshFor {
			h.setStreams(s, math.NaN())
		}
		if silent > h.length || full && silent > freshFor {
			delete(h.senders, from)
		}
	}
}

// newSender returns a place for an Envoy, or nil if there is none.
func (h *History) newSender(from string, at time.Time) *sender {
	if len(h.senders) >= h.maxSenders {
		return nil
	}
	s := &sender{at: at, counters: map[string]float64{}, streams: math.NaN()}
	h.senders[from] = s
	return s
}

// setStreams records how many requests an Envoy has, or that it is not known.
func (h *History) setStreams(s *sender, n float64) {
	if !math.IsNaN(s.streams) {
		h.streams -= s.streams
		h.known--
	}
	if !math.IsNaN(n) {
		h.streams += n
		h.known++
	}
	s.streams = n
}

// complete returns the newest interval of which no more values are to come.
func (h *History) complete() int64 { return h.interval(h.now().Add(-h.delay)) - 1 }

// Page returns all series, up to the last interval that is complete.
func (h *History) Page() Page {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := Page{IntervalS: h.seconds, Times: []int64{}, Series: []Series{}}
	last := min(h.complete(), h.newest)
	if h.first == 0 || last < h.first {
		return p
	}
	for i := h.first; i <= last; i++ {
		p.Times = append(p.Times, h.time(i))
	}
	for _, key := range slices.Sorted(maps.Keys(h.series)) {
		s := h.series[key]
		if s.name == buckets {
			continue
		}
		one := Series{Name: s.name, Labels: s.labels, Unit: s.kind.unit, Values: make([]Value, 0, len(p.Times))}
		for i := h.first; i <= last; i++ {
			one.Values = append(one.Values, s.value(i, h.seconds))
		}
		p.Series = append(p.Series, one)
	}
	bs := h.bounds()
	for _, q := range quantiles {
		one := Series{Name: FirstToken, Labels: q.labels(), Unit: kinds[FirstToken].unit}
		for i := h.first; i <= last; i++ {
			one.Values = append(one.Values, h.quantile(bs, q, i))
		}
		p.Series = append(p.Series, one)
	}
	return p
}

// Latest returns the values of the last interval that is complete. It reports false if there is none.
func (h *History) Latest() (Latest, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.complete()
	if h.first == 0 || last < h.first || last > h.newest {
		return Latest{}, false
	}
	l := Latest{Time: h.time(last), Series: []Point{}}
	for _, key := range slices.Sorted(maps.Keys(h.series)) {
		if s := h.series[key]; s.name != buckets {
			l.Series = append(l.Series, Point{Name: s.name, Labels: s.labels, Value: s.value(last, h.seconds)})
		}
	}
	bs := h.bounds()
	for _, q := range quantiles {
		l.Series = append(l.Series, Point{Name: FirstToken, Labels: q.labels(), Value: h.quantile(bs, q, last)})
	}
	return l, true
}

// time returns when an interval begins, in seconds since 1970.
func (h *History) time(interval int64) int64 { return interval * h.width / int64(time.Second) }
