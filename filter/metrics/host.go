package metrics

// Kind is a kind of metric.
type Kind uint8

// The kinds that proxy-wasm has, by its numbers.
const (
	Counter Kind = iota
	Gauge
	Histogram
)

// Host keeps metrics, by numbers of its own.
type Host interface {
	// Define gives the number of a metric, or false where there is none to be had.
	Define(kind Kind, name string) (uint32, bool)
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

func (s *Set) define(kind Kind, name string) metric {
	id, ok := s.host.Define(kind, name)
	if m := metric(id) + firstID; ok && m >= firstID {
		return m
	}
	return refused
}

// add raises a counter, whose name is only put together when it is asked for first.
func (s *Set) add(m *metric, n int, name ...string) {
	if n <= 0 {
		return
	}
	if *m == undefined {
		*m = s.define(Counter, join(name))
	}
	if *m >= firstID {
		s.host.Add(uint32(*m-firstID), int64(n))
	}
}

func (s *Set) record(m metric, value int64) {
	if m >= firstID {
		s.host.Record(uint32(m-firstID), uint64(max(value, 0)))
	}
}

func join(parts []string) string {
	var b []byte
	for _, p := range parts {
		b = append(b, p...)
	}
	return string(b)
}
