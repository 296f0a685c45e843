package metrics

import "github.com/harmonyedge/harmonyedge/harmonycore/contract"

// Host keeps metrics, by numbers of its own.
type Host interface {
	// Define gives the number of a metric, or false where there is none to be had.
	Define(kind contract.MetricKind, name string) (uint32, bool)
	// Add counts n more.
	Add(id uint32, n int64)
	// Record sets a gauge, or gives a histogram another value.
	Record(id uint32, value uint64)
}

// metric is the host's number, from firstID on.
type metric uint32

const (
	undefined metric = iota
	// refused is one that the host will not have. It is asked once: nothing is worth more of a stream's time.
	refused
	firstID
)

// define has the host keep a metric with the values of its labels, in the contract's order.
func (s *Set) define(of contract.Metric, values []string) metric {
	info := of.Info()
	name := []byte(info.Name)
	for i, label := range info.Labels {
		if i < len(values) {
			name = append(append(append(append(name, '.'), label...), '.'), legible(values[i])...)
		}
	}
	id, ok := s.host.Define(info.Kind, string(name))
	if m := metric(id) + firstID; ok && m >= firstID {
		return m
	}
	return refused
}

// add raises a counter with labels, whose name is only put together when it is asked for first.
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

// count raises a counter without labels.
func (s *Set) count(of contract.Metric, n int) { s.add(&s.plain[of], n, of) }

// record sets a gauge without labels, or gives such a histogram another value.
func (s *Set) record(of contract.Metric, value int64) { s.set(s.plain[of], value) }

func (s *Set) set(m metric, value int64) {
	if m >= firstID {
		s.host.Record(uint32(m-firstID), uint64(max(value, 0)))
	}
}

// maxLabel is how much of a label's value is kept, in bytes.
const maxLabel = 128

// legible returns a text as it may stand in a name: printable ASCII without spaces, which is all that an operator may
// name a model.
func legible(s string) []byte {
	b := []byte(s)
	b = b[:min(len(b), maxLabel)]
	for i, c := range b {
		if c <= ' ' || c > '~' {
			b[i] = '_'
		}
	}
	return b
}
