package metrics

import "github.com/harmonyedge/harmonyedge/harmonycore/contract"

// Host keeps metrics under its own ids.
type Host interface {
	// Define returns the id of a metric. It reports false if the host has no room for the metric.
	Define(kind contract.MetricKind, name string) (uint32, bool)
	// Add adds n to a counter.
	Add(id uint32, n int64)
	// Record sets a gauge, or adds a value to a histogram.
	Record(id uint32, value uint64)
}

// metric is firstID plus the host's id.
type metric uint32

const (
	undefined metric = iota
	// refusedID is a metric that the host has refused. It is requested only once, to save a stream's time.
	refusedID
	firstID
)

// define defines a metric with the values of its labels, in the contract's order, at the host.
func (s *Set) define(of contract.Metric, values []string) metric {
	info := of.Info()
	name := []byte(info.Name)
	for i, label := range info.Labels {
		if i < len(values) {
			name = append(append(append(append(name, '.'), label...), '.'), printable(values[i])...)
		}
	}
	id, ok := s.host.Define(info.Kind, string(name))
	if m := metric(id) + firstID; ok && m >= firstID {
		return m
	}
	return refusedID
}

// add adds n to a counter with labels. Its name is composed only at the first use.
func (s *Set) add(m *metric, n int, of contract.Metric, values ...string) {
	if n <= 0 {
		return
	}
	if *m == undefined {
		*m = s.define(of, values)
	}
	if *m >= firstID {
		s.host.Add(uint32(*m-firstID), int64(n))
	}
}

// count adds n to a counter without labels.
func (s *Set) count(of contract.Metric, n int) { s.add(&s.plain[of], n, of) }

// record sets a gauge without labels, or adds a value to a histogram without labels.
func (s *Set) record(of contract.Metric, value int64) { s.set(s.plain[of], value) }

func (s *Set) set(m metric, value int64) {
	if m >= firstID {
		s.host.Record(uint32(m-firstID), uint64(max(value, 0)))
	}
}

// maxLabel is the greatest length of a label's value, in bytes.
const maxLabel = 128

// printable returns a text in the form that a metric's name allows: printable ASCII without spaces. Operators may only
// use such characters in the names of models.
func printable(s string) []byte {
	b := []byte(s)
	b = b[:min(len(b), maxLabel)]
	for i, c := range b {
		if c <= ' ' || c > '~' {
			b[i] = '_'
		}
	}
	return b
}
