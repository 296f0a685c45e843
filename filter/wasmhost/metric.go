package wasmhost

import (
	"slices"
	"sync"
)

// The kinds of metrics. They are also the low bits of a metric's id.
const (
	counter   = 0
	gauge     = 1
	histogram = 2
	kindBits  = 2
	kindMask  = 1<<kindBits - 1
)

// metric is one metric. The value of a histogram is the number of recorded values, and sum is their sum. Then buckets
// has the number of values up to each bound, and above the bound before it.
type metric struct {
	name       string
	kind       uint32
	value, sum uint64
	bounds     []float64
	buckets    []uint64
}

// MetricKind is the kind of a [Metric].
type MetricKind int

// The kinds of metrics.
const (
	CounterMetric   MetricKind = counter
	GaugeMetric     MetricKind = gauge
	HistogramMetric MetricKind = histogram
)

// Metric is one of the filter's metrics, with what all workers have counted.
type Metric struct {
	Name string
	Kind MetricKind
	// Value is the value of a counter or a gauge, and the number of values recorded in a histogram.
	Value uint64
	// Sum is the sum of the values recorded in a histogram. Bounds are the upper bounds of its buckets, and Buckets the
	// number of values that are not above each bound.
	Sum     uint64
	Bounds  []float64
	Buckets []uint64
}

// defaultBounds are the bounds of Envoy's histograms.
var defaultBounds = []float64{0.5, 1, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000,
	600_000, 1_800_000, 3_600_000}

// metrics are the metrics of all workers together. bounds is [Options.Buckets].
type metrics struct {
	bounds func(name string) []float64

	mu  sync.Mutex
	all []*metric
	// ids has an entry for each definition. Defining a name again gives another id for the same metric.
	ids []*metric
}

func (m *metrics) define(kind uint32, name string) uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ids = append(m.ids, m.find(kind, name))
	return uint32(len(m.ids))<<kindBits | kind
}

// find returns a metric, which it makes if no metric has that name and kind.
func (m *metrics) find(kind uint32, name string) *metric {
	at := slices.IndexFunc(m.all, func(x *metric) bool { return x.name == name && x.kind == kind })
	if at < 0 {
		at = len(m.all)
		m.all = append(m.all, m.create(kind, name))
	}
	return m.all[at]
}

func (m *metrics) create(kind uint32, name string) *metric {
	created := &metric{name: name, kind: kind}
	if kind != histogram {
		return created
	}
	if m.bounds != nil {
		created.bounds = m.bounds(name)
	}
	if created.bounds == nil {
		created.bounds = defaultBounds
	}
	created.buckets = make([]uint64, len(created.bounds))
	return created
}

// observe adds a value to a histogram.
func (m *metric) observe(value uint64) {
	m.value++
	m.sum += value
	// A value above all bounds is only in the number of all.
	if at, _ := slices.BinarySearch(m.bounds, float64(value)); at < len(m.buckets) {
		m.buckets[at]++
	}
}

// with calls f with the metric of an id. It returns an error status if there is none.
func (m *metrics) with(id uint32, f func(*metric) Status) Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id&kindMask > histogram {
		return StatusBadArgument
	}
	at := int(id>>kindBits) - 1
	if at < 0 || at >= len(m.ids) || m.ids[at].kind != id&kindMask {
		return StatusNotFound
	}
	return f(m.ids[at])
}

// count adds 1 to a counter.
func (m *metrics) count(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.find(counter, name).value++
}

func (m *metrics) snapshot() map[string]uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[string]uint64, len(m.all))
	for _, x := range m.all {
		out[x.name] = x.value
	}
	return out
}

func (m *metrics) read() []Metric {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Metric, 0, len(m.all))
	for _, x := range m.all {
		one := Metric{Name: x.name, Kind: MetricKind(x.kind), Value: x.value, Sum: x.sum, Bounds: slices.Clone(x.bounds)}
		below := uint64(0)
		for _, n := range x.buckets {
			below += n
			one.Buckets = append(one.Buckets, below)
		}
		out = append(out, one)
	}
	return out
}

func defineMetric(v *vm, a []uint64) Status {
	name, ok := v.readString(a[1], a[2])
	if !ok {
		return StatusInvalidMemoryAccess
	}
	if uint32(a[0]) > histogram {
		return StatusBadArgument
	}
	return v.writeUint32(v.worker.host.metrics.define(uint32(a[0]), name), a[3])
}

func incrementMetric(v *vm, a []uint64) Status {
	offset := int64(a[1])
	return v.worker.host.metrics.with(uint32(a[0]), func(m *metric) Status {
		if m.kind == histogram || m.kind == counter && offset <= 0 {
			return StatusBadArgument
		}
		m.value += uint64(offset)
		return StatusOK
	})
}

func recordMetric(v *vm, a []uint64) Status {
	return v.worker.host.metrics.with(uint32(a[0]), func(m *metric) Status {
		switch m.kind {
		case gauge:
			m.value = a[1]
		case counter:
			m.value += a[1]
		default:
			m.observe(a[1])
		}
		return StatusOK
	})
}

func getMetric(v *vm, a []uint64) Status {
	var value uint64
	status := v.worker.host.metrics.with(uint32(a[0]), func(m *metric) Status {
		if m.kind == histogram {
			return StatusBadArgument
		}
		value = m.value
		return StatusOK
	})
	if status != StatusOK {
		return status
	}
	return v.writeUint64(value, a[1])
}
