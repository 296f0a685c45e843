package limits

import "github.com/prometheus/client_golang/prometheus"

// namespace begins the metrics' names.
const namespace = "harmony_limits"

// The steps of a ledger, as metrics name them.
const (
	stepReserve  = "reserve"
	stepSettle   = "settle"
	stepWithdraw = "withdraw"
	stepReady    = "ready"
)

// metrics count what this process was asked. They have no names of clients: there may be many. The books have.
type metrics struct {
	granted, settled, withdrawn, dropped, invalid prometheus.Counter
	reserved, used                                prometheus.Counter
	refused, errors                               *prometheus.CounterVec
	seconds                                       *prometheus.HistogramVec
	up, waiting                                   prometheus.GaugeFunc
}

func newMetrics(s *Service) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	}
	gauge := func(name, help string, value func() float64) prometheus.GaugeFunc {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, value)
	}
	m := &metrics{
		granted:   counter("granted_total", "Reservations that were made."),
		settled:   counter("settled_total", "Settlements that were made."),
		withdrawn: counter("withdrawn_total", "Reservations whose Envoy no longer waited for the answer."),
		dropped:   counter("settlements_dropped_total", "Settlements that were given up; what was reserved counts as used."),
		invalid:   counter("invalid_total", "Descriptors that could not be read."),
		reserved:  counter("reserved_tokens_total", "Tokens of the reservations that were made."),
		used:      counter("used_tokens_total", "Tokens of the settlements that were made."),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "refused_total",
			Help: "Reservations that were refused, by what there was too much of."}, []string{"resource"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "ledger_errors_total",
			Help: "Steps that failed in the ledger."}, []string{"step"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "ledger_seconds",
			Help: "Time of the ledger's steps.", Buckets: []float64{1e-5, 1e-4, 2.5e-4, 5e-4, 0.001, 0.0025, 0.005, 0.01, 0.025,
				0.05, 0.1, 0.25, 0.5, 1, 2.5}}, []string{"step"}),
		up: gauge("ledger_up", "1 when the ledger's last step succeeded, else 0.", func() float64 {
			if s.failing.Load() || !s.answered.Load() {
				return 0
			}
			return 1
		}),
		waiting: gauge("settlements_waiting", "Settlements that wait for the ledger.", func() float64 {
			return float64(len(s.late.waiting))
		}),
	}
	for _, resource := range []string{"requests", "tokens", "concurrency"} { // so that a counter is there before its event
		m.refused.WithLabelValues(resource)
	}
	for _, step := range []string{stepReserve, stepSettle, stepWithdraw} {
		m.errors.WithLabelValues(step)
		m.seconds.WithLabelValues(step)
	}
	return m
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.granted, m.settled, m.withdrawn, m.dropped, m.invalid, m.reserved, m.used, m.refused,
		m.errors, m.seconds, m.up, m.waiting}
}

// Describe implements [prometheus.Collector].
func (m *metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(to)
	}
}

// Collect implements [prometheus.Collector].
func (m *metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(to)
	}
}

// Metrics returns the service's metrics.
func (s *Service) Metrics() prometheus.Collector { return s.metrics }
